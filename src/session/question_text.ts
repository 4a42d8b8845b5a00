/** A question to the person and its outcome, in a line. */
import { exactLine } from "../base/visible.ts";
import type { Decision, EventData } from "../protocol/events.ts";
import { askedOf } from "../protocol/person_question.ts";

/** What is asked: `allow remember? keep it`, or `the model asks: which one?`. */
export function askedText(request: EventData["approval.requested"]): string {
  const asked = askedOf(request);
  return asked === undefined ? allowText(request) : `the model asks: ${exactLine(asked.question)}`;
}

function allowText({ tool, reason }: EventData["approval.requested"]): string {
  return `allow ${exactLine(tool)}? ${exactLine(reason)}`;
}

/** How it was decided. */
export const DECISIONS: Record<Decision, string> = {
  allow: "allowed",
  allow_always: "always allowed",
  deny: "denied",
};

/** The question whether something may be done, and how it was decided. */
export function decidedText(
  request: EventData["approval.requested"],
  { waits, decision }: { waits: boolean; decision?: Decision },
): string {
  const outcome = decision === undefined ? "not answered" : DECISIONS[decision];
  return `${allowText(request)} · ${waits ? "waiting for you" : outcome}`;
}
