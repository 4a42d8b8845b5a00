import { SvcError } from "../../protocol/errors.ts";
import type { Unanswered } from "../../protocol/person_question.ts";
import type { QuestionOutcome } from "../../session/person_answers.ts";

/**
 * Reads what `session.answer` was given.
 *
 * @throws {SvcError} validation for an answer together with a reason why there is none.
 */
export function outcomeOf(
  { chosen, text, unanswered }: { chosen: string[]; text?: string; unanswered?: Unanswered },
): QuestionOutcome {
  if (unanswered === undefined) return { chosen, ...(text !== undefined && { text }) };
  if (chosen.length === 0 && text === undefined) return unanswered;
  throw new SvcError("validation", "either an answer or unanswered is expected, not both");
}
