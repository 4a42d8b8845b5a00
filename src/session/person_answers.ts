/** The model's questions to the person, among the approvals of its session. */
import { SvcError } from "../protocol/errors.ts";
import { type Decision, MAIN_LANE } from "../protocol/events.ts";
import {
  answerProblem,
  askedOf,
  type PersonAnswer,
  type PersonQuestion,
  type Unanswered,
} from "../protocol/person_question.ts";
import type { Approvals } from "./approvals.ts";

/** The person's answer, or why there is none. */
export type QuestionOutcome = PersonAnswer | Unanswered;

interface AskingCall {
  call_id: string;
  tool: string;
}

/** Asks the person a question of the main lane and waits. @throws {DOMException} AbortError */
export async function askPerson(
  approvals: Pick<Approvals, "request">,
  { call_id, tool }: AskingCall,
  question: PersonQuestion,
  signal: AbortSignal,
): Promise<QuestionOutcome> {
  const [reason] = question.question.split("\n", 1);
  const request = { call_id, tool, args: question, reason, rule: tool, kind: "question" } as const;
  const { answer, unanswered = "declined" } = await approvals.request(request, MAIN_LANE, signal);
  return answer ?? unanswered;
}

/**
 * Decides a question like an approval: denying it skips it.
 *
 * @throws {SvcError} as `Approvals.decide`; validation when it is to be allowed
 */
export async function decideQuestion(
  approvals: Approvals,
  approval_id: string,
  decision: Decision,
  by: string,
  shown?: string,
): Promise<void> {
  if (decision === "deny") {
    return await answerQuestion(approvals, approval_id, "declined", by, shown);
  }
  throw new SvcError("validation", `approval ${approval_id} is a question to the person`, {
    hint: "answer it with session.answer; deny skips it",
  });
}

/**
 * Answers a question, or records why there is no answer.
 *
 * @throws {SvcError} as `Approvals.decide`; validation for an answer that does not fit
 */
export async function answerQuestion(
  approvals: Approvals,
  approval_id: string,
  outcome: QuestionOutcome,
  by: string,
  shown?: string,
): Promise<void> {
  const pending = approvals.find(approval_id);
  const asked = pending && askedOf(pending);
  if (pending !== undefined && asked === undefined) {
    throw new SvcError("validation", `approval ${approval_id} is not a question to the person`, {
      hint: "decide it with session.approve",
    });
  }
  if (typeof outcome === "string") {
    const unanswered = { decision: "deny", unanswered: outcome } as const;
    return await approvals.resolve(approval_id, unanswered, by, shown);
  }
  const problem = asked && answerProblem(asked, outcome);
  if (problem !== undefined) throw new SvcError("validation", problem);
  const answered = { decision: "allow", answer: outcome } as const;
  await approvals.resolve(approval_id, answered, by, shown);
}
