/** Items of a conversation in the words of a terminal. */
import { elapsedText } from "../base/elapsed.ts";
import { changeLines } from "../base/edits/change_lines.ts";
import { changesOf } from "../base/edits/changes.ts";
import { decidedText } from "./question_text.ts";
import type { QuestionItem, ThoughtItem, ToolItem } from "./view_items.ts";

/** No face shows the duration of shorter reasoning; in milliseconds. */
const THOUGHT_MIN = 1_000;

/** How long the model thought; undefined while it does, and when it took no time to speak of. */
export function thoughtText({ at, until }: ThoughtItem): string | undefined {
  if (until === undefined) return undefined;
  const ms = Date.parse(until) - Date.parse(at);
  return ms >= THOUGHT_MIN ? `thought for ${elapsedText(ms)}` : undefined;
}

/** What a call changes in files, as lines of text; empty for a call that changes none. */
export function editLines({ tool, args }: Pick<ToolItem, "tool" | "args">): string[] {
  return changeLines(changesOf(tool, args));
}

/** A question and its outcome. */
export function settledText({ request, asked }: QuestionItem): string {
  return decidedText(request, asked);
}
