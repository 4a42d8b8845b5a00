/** Items of a conversation in words. */
import { elapsedText } from "../base/elapsed.ts";
import { decidedText } from "./question_text.ts";
import type { QuestionItem, ThoughtItem } from "./view_items.ts";

/** Shorter reasoning is shown without its duration; milliseconds. */
const THOUGHT_MIN = 1_000;

/** How long the model thought; undefined until it ends, and for a short time. */
export function thoughtText({ at, until }: ThoughtItem): string | undefined {
  if (until === undefined) return undefined;
  const ms = Date.parse(until) - Date.parse(at);
  return ms >= THOUGHT_MIN ? `thought for ${elapsedText(ms)}` : undefined;
}

export function settledText({ request, asked }: QuestionItem): string {
  return decidedText(request, asked);
}
