/** Shortens a conversation by replacing texts with shorter ones. */
import { type Attachment, attachmentLine } from "../protocol/attachments.ts";
import { type EventData, READ_EARLIER } from "../protocol/events.ts";
import type { Item } from "./transcript_items.ts";

/** Replaces the outputs up to a seq with a line, if that is much shorter. */
export function leaveOutOutputs(items: readonly Item[], until_seq: number): void {
  for (const item of items) {
    for (const result of "step" in item ? item.step.results : []) {
      if (result.seq === undefined || result.seq > until_seq) continue;
      const note = leftOut(result.output.length, result.seq);
      // Not worth it for a short output or an earlier note.
      if (result.output.length > 2 * note.length) result.output = note;
    }
  }
}

/** Replaces images and documents with lines. */
export function leaveOutAttachments(
  items: readonly Item[],
  which: NonNullable<EventData["session.compacted"]["attachments"]>,
): void {
  const { from_seq, to_seq, refused } = which;
  const linesFor = ({ seq, attachments = [] }: { seq?: number; attachments?: Attachment[] }) => {
    if (seq === undefined || seq < from_seq || seq > to_seq) return undefined;
    const note = refused
      ? "left out because the provider refused it"
      : `left out to save room; ${READ_EARLIER} with seq ${seq} shows it again`;
    return attachments.map((it) => `\n${attachmentLine(it, note)}`).join("") || undefined;
  };
  for (const item of items) {
    if ("user" in item) {
      const lines = linesFor(item);
      if (lines === undefined) continue;
      item.user += lines;
      delete item.attachments;
    } else if ("step" in item) {
      for (const result of item.step.results) {
        const lines = linesFor(result);
        if (lines === undefined) continue;
        result.output += lines;
        delete result.attachments;
      }
    }
  }
}

/** Cuts longer messages and outputs. */
export function cutTexts(items: readonly Item[], max: number): void {
  for (const item of items) {
    if ("user" in item) item.user = cutText(item.user, max, item.seq);
    else if ("step" in item) {
      for (const result of item.step.results) {
        if (result.seq !== undefined) result.output = cutText(result.output, max, result.seq);
      }
    }
  }
}

/** Cuts longer texts from svc. */
export function cutTold(items: readonly Item[], max: number): void {
  for (const item of items) {
    if ("told" in item) {
      Object.assign(item, { told: shorterTold(item.told, max, item.seq), parts: [] });
    }
  }
}

function leftOut(length: number, seq: number): string {
  return `[output of ${length} characters left out to save room; ` +
    `${READ_EARLIER} with seq ${seq} reads it again]`;
}

function cutText(text: string, max: number, seq: number): string {
  const note =
    `\n[the rest is left out to save room; ${READ_EARLIER} with seq ${seq} reads all of it]`;
  if (text.length <= max + note.length) return text;
  const body = text.endsWith(note) ? text.slice(0, -note.length) : text;
  // Do not split a surrogate pair.
  return body.slice(0, max).replace(/[\uD800-\uDBFF]$/, "") + note;
}

/** Keeps the end of the block around the text. */
function shorterTold(text: string, max: number, seq: number): string {
  const [end = ""] = text.match(/\n<\/context>\s*$/) ?? [];
  return cutText(text.slice(0, text.length - end.length), max, seq) + end;
}
