/** A turn that was cut off: how far it came, and what becomes of its calls. */
import {
  type Decision,
  type EventData,
  MAIN_LANE,
  MODEL_RETRY,
  MODEL_TOLD,
} from "../protocol/events.ts";
import type { FinishReason, ToolCall } from "../models/model.ts";
import type { QuestionOutcome } from "../session/person_answers.ts";
import type { TurnSession } from "../session/session.ts";
import { type Answer, Answers } from "./answers.ts";
import { CONNECT, GIT_PUSH } from "./connect.ts";
import {
  type CallContext,
  deniedText,
  finishCall,
  recordOutcome,
  repeats,
  UNKNOWN_OUTCOME,
} from "./calls.ts";
import type { ToolOutcome } from "./tool.ts";

/** A call that had begun when its turn was cut off. */
export interface LeftCall {
  outcome?: ToolOutcome;
  asked?: boolean;
  /** Whether the call asked for something while it ran. */
  acted?: boolean;
  decision?: Decision;
  /** The arguments that the decision is about. */
  decided?: unknown;
  /** What the person said with a denial. */
  message?: string;
  /** What the person answered to its question. */
  answer?: QuestionOutcome;
}

/** What is left of a turn. */
export interface Left {
  /** Number of answered model calls. */
  steps: number;
  /** The answers before the last one. */
  answers: Answers;
  /** The last answer, whose calls may not all have run. */
  last?: {
    answer: Answer;
    /** The calls that had begun, by id. */
    calls: Map<string, LeftCall>;
    /** Whether the model already knows what was wrong with the answer. */
    told: boolean;
  };
  /** Whether the next answer continues the last one. */
  continues: boolean;
  /** Whether the memory was asked about the turn. */
  recalled: boolean;
  /** The model that answers the rest of the turn instead of the session's own. */
  fallback?: string;
  /** Whether settings changed without the model knowing. */
  configured: boolean;
}

/** Reads how far the open turn of a session came. */
// fold-ok: what the next request must say of a turn that was cut off
export async function readLeft(session: TurnSession): Promise<Left> {
  const { started_seq = session.state.last_seq } = session.state.turn ?? {};
  const left: Left = {
    steps: 0,
    answers: new Answers(),
    continues: false,
    recalled: false,
    configured: false,
  };
  let text = "";
  /** Approvals and questions by approval id. */
  const asked = new Map<
    string,
    Pick<EventData["approval.requested"], "call_id" | "args" | "kind">
  >();
  for await (const { seq, type, data } of session.journal.read(started_seq - 1)) {
    if (seq > session.state.last_seq) break;
    const begun = (call_id: string) => {
      const call = left.last?.calls.get(call_id) ?? {};
      left.last?.calls.set(call_id, call);
      return call;
    };
    switch (type) {
      case "session.delta":
        text += data.text;
        break;
      case "turn.continued":
        text = "";
        break;
      case "turn.parked":
        // The session's own model may answer again.
        left.fallback = undefined;
        break;
      case "lane.note":
        if (data.reason_code === MODEL_RETRY) {
          text = "";
          // A subagent's note has its own code, and affects only its lane.
          left.fallback = data.fallback ?? left.fallback;
        }
        if (data.reason_code === MODEL_TOLD && left.last) left.last.told = true;
        break;
      case "cost.tick": {
        if ((data.lane_id ?? MAIN_LANE) !== MAIN_LANE) break;
        left.steps++;
        judgeLast(left);
        const { reason, calls } = data.answered ?? { reason: "stop", calls: [] };
        const answer = { reason: reason as FinishReason, calls, said: text.trim() !== "" };
        left.last = { answer, calls: new Map(), told: false };
        text = "";
        break;
      }
      case "session.tool_started":
        begun(data.call_id);
        break;
      case "session.tool_completed": {
        const { call_id, ok, output } = data;
        begun(call_id).outcome = { ok, output };
        break;
      }
      case "approval.requested":
        if (data.tool === CONNECT || data.tool === GIT_PUSH) begun(data.call_id).acted = true;
        else {
          begun(data.call_id).asked = true;
          asked.set(data.approval_id, data);
        }
        break;
      case "approval.resolved": {
        const about = asked.get(data.approval_id);
        // A withdrawn question has no decision; a call that was settled as allowed may have run.
        const withdrawn = data.by === "svc" && data.decision === "deny";
        if (about === undefined || withdrawn) break;
        const { decision, message, answer, unanswered = "declined" } = data;
        if (about.kind === undefined) {
          const decided = about.args;
          Object.assign(begun(about.call_id), { decision, decided, ...(message && { message }) });
        } else begun(about.call_id).answer = answer ?? unanswered;
        break;
      }
      case "memory.recalled":
        left.recalled = true;
        break;
      case "session.configured":
        left.configured = true;
        if (data.model !== undefined) left.fallback = undefined;
        break;
      case "context.told":
        left.configured = false;
        break;
    }
  }
  return left;
}

/** Judges the last answer once another one follows it. */
function judgeLast({ answers, last }: Left): void {
  if (last === undefined) return;
  const { answer, calls } = last;
  const { end } = answers.judge(answer);
  if (end !== undefined || answer.calls.length === 0) return;
  const none = { ok: false, output: "" };
  answers.judgeCalls(
    answer.calls,
    answer.calls.map((it) => calls.get(it.call_id)?.outcome ?? none),
  );
}

/**
 * Ends a call that had begun when its turn was cut off. One that can be repeated, or still waits for
 * approval, runs now, and the person is not asked again what they have answered; for others the
 * model learns that their effect is unknown.
 *
 * @returns the result
 * @throws the turn's reason if the turn is stopped immediately
 */
export async function continueCall(
  step: CallContext,
  call: ToolCall,
  { asked, acted, decision, decided, message, answer }: LeftCall,
): Promise<ToolOutcome> {
  const tool = step.tools.find((it) => it.spec.name === call.tool);
  const left = tool?.once ? await subagentLeft(step.session, call.call_id) : undefined;
  const again = tool !== undefined && repeats(tool) && left === undefined && decision !== "deny";
  if (again || (asked && !acted && decision === undefined)) {
    return await finishCall({ ...step, said: { allowed: decided, answer } }, call);
  }
  await step.session.approvals.settle(call.call_id, "deny");
  const outcome = decision === "deny"
    ? { ok: false, output: deniedText(message) }
    : left ?? { ok: false, output: UNKNOWN_OUTCOME };
  await recordOutcome(step, call, outcome, 0);
  return outcome;
}

/** Returns the result of the call's subagent, if it has started one. */
async function subagentLeft(
  { journal, state }: TurnSession,
  call_id: string,
): Promise<ToolOutcome | undefined> {
  const { started_seq = state.last_seq } = state.turn ?? {};
  const { readSubagent } = await import("./subagent_record.ts");
  return await readSubagent(journal, { from_seq: started_seq, to_seq: state.last_seq, call_id });
}
