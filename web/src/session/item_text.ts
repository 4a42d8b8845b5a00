/** Items of a conversation in words. */
import { turnEndSentence } from "../../../src/protocol/note_text.ts";
import { decidedText } from "../../../src/session/question_text.ts";
import type { NoteItem, NoteTopic, QuestionItem, ToolItem } from "../../../src/session/view.ts";
import { duration } from "../format.ts";

const HEADS: { [T in NoteTopic]?: string } = {
  settings: "Settings",
  context: "Context",
  undo: "Undo",
};

/** A note, with what it is about where it does not say that itself. */
export function noteText({ topic, text, end }: NoteItem): string {
  if (end !== undefined) return turnEndSentence(end);
  // What a program or a person wrote stays as it is.
  if (topic === "answer") return text;
  const head = topic && HEADS[topic];
  return head === undefined ? sentence(text) : `${head}: ${text}`;
}

/** A question and its outcome. */
export function questionText({ request, asked }: QuestionItem): string {
  return sentence(decidedText(request, asked));
}

function sentence(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/**
 * How a call stands, in a few words.
 *
 * @param stopped whether somebody ended what it began
 */
export function outcomeText(
  { outcome, asked }: Pick<ToolItem, "outcome" | "asked">,
  stopped = false,
): string {
  if (outcome === undefined) return asked?.waits ? "waiting for you" : "running";
  // It was not run: how long that took says nothing.
  if (asked?.decision === "deny") return "denied";
  const { ok, duration_ms, exit_code } = outcome;
  const said = [
    exit_code === undefined
      ? (ok ? undefined : stopped ? "stopped" : "failed")
      : `exit ${exit_code}`,
    duration_ms === undefined ? undefined : duration(duration_ms),
  ];
  return said.filter(Boolean).join(" · ");
}
