/** A question to the person and its outcome, in one line. */
import { exactLine } from "../base/visible.ts";
import type { Decision, EventData } from "../protocol/events.ts";
import { askedOf } from "../protocol/person_question.ts";

/** `allow remember? keep it`, or `the model asks: which one?`. */
export function askedText(request: EventData["approval.requested"]): string {
  const asked = askedOf(request);
  return asked === undefined ? allowText(request) : `the model asks: ${exactLine(asked.question)}`;
}

function allowText({ tool, reason }: EventData["approval.requested"]): string {
  return `allow ${exactLine(tool)}? ${exactLine(reason)}`;
}

export const DECISIONS: Record<Decision, string> = {
  allow: "allowed",
  allow_always: "always allowed",
  deny: "denied",
};

/** The question about a call and its decision. */
export function decidedText(
  request: EventData["approval.requested"],
  { waits, decision }: { waits: boolean; decision?: Decision },
): string {
  const outcome = decision === undefined ? "not answered" : DECISIONS[decision];
  return `${allowText(request)} · ${waits ? "waiting for you" : outcome}`;
}
