/** The items of a transcript, and their form for a model. */
import type { Message, Told, ToolCall, ToolResult } from "../models/model.ts";
import type { Attachment } from "../protocol/attachments.ts";
import type { Told as ToldText } from "./repeated_context.ts";

export interface Result extends ToolResult {
  /** seq of the record with its output; absent in old checkpoints. */
  seq?: number;
  attachments?: Attachment[];
}

export interface Step {
  /** seq of its first event: the model had not seen later messages. */
  first_seq: number;
  text: string;
  calls: ToolCall[];
  results: Result[];
  /** What the provider wants back with an answer without calls. */
  echo?: Record<string, unknown>;
}

/** The step at which a turn was interrupted, before its end closed it. */
export interface Cut {
  step: Step;
  /** Whether its text is complete. */
  written: boolean;
  /** Calls that got a result only from the turn's end. */
  unanswered: string[];
}

/** A message of the person, with recalled memory. */
export interface Said {
  user: string;
  seq: number;
  memory?: string;
  attachments?: Attachment[];
}

/** Facts or rules from svc. Left out only as a last resort. */
export interface Context extends ToldText {
  seq: number;
}

/** A notice from svc about the model's last answer or something else. */
export interface Notice {
  notice: string;
  seq: number;
  about?: "answer" | "background" | "files" | "hook";
}

/** Replaces the conversation before it. */
interface Summary {
  /** Empty if none could be made. */
  summary: string;
  /** Changed files. */
  files: string[];
  /** The plan, if it had open steps. */
  plan?: string;
  seq: number;
}

export type Item = Said | Context | Notice | { step: Step } | Summary;

const SHORTENED = "[the conversation before this is no longer kept]";

/** Omits the member when there are no attachments. */
export function attached(attachments: Attachment[] | undefined): { attachments?: Attachment[] } {
  return attachments === undefined ? {} : { attachments };
}

export function mayGo(item: Item): item is Exclude<Item, Context> {
  return !("told" in item);
}

/** The calls of a step without a result. */
export function openCalls({ calls, results }: Step): ToolCall[] {
  return calls.filter(({ call_id }) => !results.some((result) => result.call_id === call_id));
}

/** The seq that identifies an item in its conversation. */
export function itemSeq(item: Item): number {
  return "step" in item ? item.step.first_seq : item.seq;
}

function noticeText({ notice, about = "answer" }: Notice): string {
  return `<context about="${about}">\n${notice}\n</context>`;
}

export function filesRewound(undone: boolean): string {
  return undone
    ? "The person restored the changes of files that were undone before. Read a file again before " +
      "you rely on what it contains."
    : "The person undid changes of files that you made. Read a file again before you rely on what " +
      "it contains, and do not make the same changes again unless you are asked to.";
}

function summaryText({ summary, files, plan }: Summary): string {
  const changed = files.length === 0 ? "" : `\n\nFiles changed so far: ${files.join(", ")}`;
  const said = summary === ""
    ? "[The conversation before this was left out to save room, without a summary.]"
    : `[The conversation before this was left out to save room. Its summary:]\n\n${summary}`;
  return said + changed + (plan === undefined ? "" : `\n\nThe plan:\n${plan}`);
}

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

/** The input of a model call. @param shortened whether earlier items were left out */
export function promptOf(items: readonly Item[], shortened: boolean): (Message | Told)[] {
  const out: (Message | Told)[] = [];
  const tellSummary = (text: string) => out.push({ role: "context", text, summary: true });
  if (shortened) tellSummary(SHORTENED);
  for (const item of items) {
    if ("summary" in item) {
      tellSummary(summaryText(item));
      continue;
    }
    if ("told" in item) {
      out.push({ role: "context", text: item.told });
      continue;
    }
    if ("notice" in item) {
      out.push({ role: "context", text: noticeText(item) });
      continue;
    }
    if ("user" in item) {
      const { user: text, memory, attachments } = item;
      const remembered = memory === undefined ? {} : { memory };
      out.push({ role: "user", text, ...remembered, ...attached(attachments) });
      continue;
    }
    const { calls, results, echo } = item.step;
    // Leading newlines only separate it from the step before.
    const text = item.step.text.replace(/^\n+/, "");
    if (text === "" && calls.length === 0) continue;
    out.push({ role: "assistant", text, calls, ...(echo === undefined ? {} : { echo }) });
    if (results.length === 0) continue;
    out.push({
      role: "tool",
      results: results.map(({ call_id, tool, ok, output, attachments }) => ({
        call_id,
        tool,
        ok,
        output,
        ...attached(attachments),
      })),
    });
  }
  return out;
}
