/** What a transcript is made of: what was said, what a step did, and what a model is told. */
import type { ToolCall, ToolResult } from "../models/model.ts";
import type { Attachment } from "../protocol/attachments.ts";
import { READ_EARLIER } from "../protocol/events.ts";
import type { Told as ToldText } from "./told.ts";

/** The result of a call. */
export interface Result extends ToolResult {
  /** seq of the record that has its output; absent in checkpoints from before it was kept. */
  seq?: number;
  attachments?: Attachment[];
}

export interface Step {
  /** seq of its first event: what was sent later, the model had not seen. */
  first_seq: number;
  text: string;
  calls: ToolCall[];
  results: Result[];
  /** What the provider wants back with an answer that has no calls. */
  echo?: Record<string, unknown>;
}

/** The step at which a turn was interrupted, as it was before its end closed it. */
export interface Cut {
  step: Step;
  /** Whether its text was complete. */
  written: boolean;
  /** The calls that its end gave a result. */
  unanswered: string[];
}

/** A message of the person, and what the memory had about it. */
export interface Said {
  user: string;
  seq: number;
  memory?: string;
  attachments?: Attachment[];
}

/** What svc told the model: of the session, or rules. Left out only where nothing else is enough. */
export interface Context extends ToldText {
  seq: number;
}

/** What svc told the model about its last answer, or about something else. */
export interface Notice {
  notice: string;
  seq: number;
  /** What it is about, if not the last answer. */
  about?: "answer" | "background" | "files" | "hook";
}

/** What stands for the conversation before it. */
export interface Summary {
  /** Empty when none could be made. */
  summary: string;
  /** Files that were changed there. */
  files: string[];
  /** The plan as it stood, if steps of it were open. */
  plan?: string;
  seq: number;
}

export type Item = Said | Context | Notice | { step: Step } | Summary;

export const SHORTENED = "[the conversation before this is no longer kept]";

/** For objects that lack the member where there is nothing to say. */
export function attached(attachments: Attachment[] | undefined): { attachments?: Attachment[] } {
  return attachments === undefined ? {} : { attachments };
}

export function mayGo(item: Item): item is Exclude<Item, Context> {
  return !("told" in item);
}

/** The calls of a step that have begun and have no result. */
export function openCalls({ calls, results }: Step): ToolCall[] {
  return calls.filter(({ call_id }) => !results.some((result) => result.call_id === call_id));
}

/** The seq by which an item is known in its conversation. */
export function itemSeq(item: Item): number {
  return "step" in item ? item.step.first_seq : item.seq;
}

/** What stands in the place of an output that can be read again. */
export function leftOut(length: number, seq: number): string {
  return `[output of ${length} characters left out to save room; ` +
    `${READ_EARLIER} with seq ${seq} reads it again]`;
}

export function cutText(text: string, max: number, seq: number): string {
  const note =
    `\n[the rest is left out to save room; ${READ_EARLIER} with seq ${seq} reads all of it]`;
  if (text.length <= max + note.length) return text;
  const body = text.endsWith(note) ? text.slice(0, -note.length) : text;
  // No half of a surrogate pair.
  return body.slice(0, max).replace(/[\uD800-\uDBFF]$/, "") + note;
}

/** The block that a text is told in stays one. */
export function cutTold(text: string, max: number, seq: number): string {
  const [end = ""] = text.match(/\n<\/context>\s*$/) ?? [];
  return cutText(text.slice(0, text.length - end.length), max, seq) + end;
}

export function noticeText({ notice, about = "answer" }: Notice): string {
  return `<context about="${about}">\n${notice}\n</context>`;
}

export function filesRewound(undone: boolean): string {
  return undone
    ? "The person restored the changes of files that were undone before. Read a file again before " +
      "you rely on what it contains."
    : "The person undid changes of files that you made. Read a file again before you rely on what " +
      "it contains, and do not make the same changes again unless you are asked to.";
}

export function summaryText({ summary, files, plan }: Summary): string {
  const changed = files.length === 0 ? "" : `\n\nFiles changed so far: ${files.join(", ")}`;
  const said = summary === ""
    ? "[The conversation before this was left out to save room, without a summary.]"
    : `[The conversation before this was left out to save room. Its summary:]\n\n${summary}`;
  return said + changed + (plan === undefined ? "" : `\n\nThe plan:\n${plan}`);
}

/** Characters of an item. */
export function lengthOf(item: Item): number {
  if ("told" in item) return item.told.length;
  if ("notice" in item) return item.notice.length;
  if ("summary" in item) return summaryText(item).length;
  if ("user" in item) return item.user.length + (item.memory?.length ?? 0);
  const { text, calls, results, echo } = item.step;
  return text.length + (JSON.stringify(echo)?.length ?? 0) +
    calls.reduce((sum, it) => sum + callLength(it), 0) +
    results.reduce((sum, it) => sum + it.output.length, 0);
}

export function callLength({ args, echo }: ToolCall): number {
  return JSON.stringify([args, echo]).length;
}
