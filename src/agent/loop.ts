/** One turn: asks the model and runs its calls, until it makes no more calls. */
import {
  type Compacted,
  MAIN_LANE,
  MODEL_RETRY,
  MODEL_SKIPPED,
  MODEL_TOLD,
} from "../protocol/events.ts";
import type { Session, Turn, TurnEnd } from "../session/session.ts";
import type { Limits } from "../models/limits.ts";
import { type Model, ModelError, type ToolCall, type Usage } from "../models/model.ts";
import { type Answer, Answers } from "./answers.ts";
import { spentBudget } from "./budget.ts";
import type { Cause } from "./compaction.ts";
import { limitsFor, prefixTokens, requestTokens, roomOf } from "./context.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import { type CallParts, runCall } from "./calls.ts";
import { endOfFailure, withRetries } from "./retries.ts";
import type { Access, Tool, ToolOutcome } from "./tools.ts";

/** What a turn needs, whether a model or an agent over ACP answers it. */
export interface TurnParts extends CallParts {
  /** Records what the memory knows about a turn, before its first model call. */
  recall(session: Session, turn: Turn): Promise<void>;
  /** Returns the budget of a session without its own, in USD. */
  budget_usd(): number | undefined;
  /** Whether the critic also checks the answers of trusted sessions. */
  critic(): boolean;
}

export interface LoopParts extends TurnParts {
  /** Finds a model by its id. @throws {UnknownModel} with a message for the person */
  model(id: string): Promise<Model>;
  /**
   * Returns the tools of a session for one step: built-in tools first, always in the same order.
   *
   * @throws the signal's reason
   */
  tools(session: Session, signal: AbortSignal): Promise<readonly Tool[]>;
  /** Records the context message about the working place, before the turn's first model call. */
  tell(session: Session, turn: Turn): Promise<void>;
  /**
   * Records the context messages about the places that a step's calls touched, before the next
   * call.
   */
  touched(session: Session, turn: Turn, calls: readonly ToolCall[]): Promise<void>;
  /** Returns how many tokens a model accepts and writes. */
  limits(model_id: string): Limits;
  /** Returns the most model calls in a turn. */
  max_steps(): number;
  /** Returns the cost of a model call, in USD. */
  cost(model_id: string, usage: Usage): number;
}

/** Separates the texts of two steps. */
const STEP_SEPARATOR = "\n\n";
/** How often a conversation is shortened for one request that the provider finds too long. */
const REFUSALS_MAX = 3;

/** One step of a turn: a model call and the tool calls in its answer. */
interface Step {
  parts: LoopParts;
  model: Model;
  tools: readonly Tool[];
  session: Session;
  turn: Turn;
  /** Whether the answer continues one that was cut off. */
  continues?: boolean;
}

/** Returns the function that runs a session's turns. */
export function turnRunner(parts: LoopParts): (session: Session, turn: Turn) => Promise<TurnEnd> {
  return async (session, turn) => {
    try {
      return await runTurn(parts, session, turn);
    } catch (error) {
      const end = endOfFailure(error);
      if (end === undefined) throw error;
      return end;
    }
  };
}

async function runTurn(parts: LoopParts, session: Session, turn: Turn): Promise<TurnEnd> {
  let { approval } = session.state;
  let model = await parts.model(session.state.model);
  const { max_steps = parts.max_steps(), max_usd = Infinity } = session.state.turn_limits ?? {};
  const cost_before = session.state.cost_usd;
  await Promise.all([parts.recall(session, turn), parts.tell(session, turn)]);
  const answers = new Answers();
  let continues = false;
  for (let count = 1; count <= max_steps; count++) {
    if (turn.soft.aborted) return { stop_reason: "interrupted" };
    const spent = spentBudget(session.state, parts.budget_usd());
    if (spent !== undefined) return { stop_reason: "budget", error: spent };
    if (session.state.cost_usd - cost_before >= max_usd) {
      return { stop_reason: "budget", error: `the limit of $${max_usd} for this turn is reached` };
    }
    if (session.state.model !== model.id || session.state.approval !== approval) {
      model = await parts.model(session.state.model);
      approval = session.state.approval;
      await parts.tell(session, turn);
    }
    const tools = await parts.tools(session, turn.soft);
    const step = { parts, model, tools, session, turn, continues };
    await makeRoom(step);
    const answer = await askModel(step);
    let { end, tell } = answers.judge(answer);
    const { calls } = answer;
    if (end === undefined && calls.length > 0) {
      const outcomes = await runCalls(step, calls);
      await parts.touched(session, turn, calls);
      const repeated = answers.judgeCalls(calls, outcomes);
      end = repeated.end;
      tell ??= repeated.tell;
    }
    if (end !== undefined && end.stop_reason !== "ok") return end;
    // A message that came during the answer is answered too.
    if (end !== undefined && !session.fresh) return await criticised(session, parts);
    if (tell !== undefined) await tellModel(session, tell);
    continues = answer.reason === "length" && calls.length === 0;
  }
  return { stop_reason: "budget", error: `the limit of ${max_steps} steps per turn is reached` };
}

/** Tells the model, and shows the person, what was wrong with an answer. */
async function tellModel(session: Session, text: string): Promise<void> {
  await session.emit("lane.note", { lane_id: MAIN_LANE, text, reason_code: MODEL_TOLD });
}

/**
 * Runs the critic on what a turn said. Output of an untrusted session goes to somebody else, so it
 * is always checked; a person's own sessions are checked only if configured.
 *
 * @returns how the turn ends
 */
export async function criticised(
  { state }: Session,
  { critic }: Pick<TurnParts, "critic">,
): Promise<TurnEnd> {
  if (state.trust === "trusted" && !critic()) return { stop_reason: "ok" };
  const { criticise } = await import("./critic.ts");
  const finding = criticise(state.turn?.text ?? "");
  if (finding === undefined) return { stop_reason: "ok" };
  return { stop_reason: "critic", error: `rule ${finding.rule}: ${finding.evidence}` };
}

/**
 * Shortens the conversation of a session between its turns.
 *
 * @returns the recorded event data; undefined when nothing is worth removing
 */
export async function compactNow(
  session: Session,
  turn: Turn,
  parts: LoopParts,
): Promise<Compacted | undefined> {
  const model = await parts.model(session.state.model);
  const tools = await parts.tools(session, turn.soft);
  return await shorten({ parts, model, tools, session, turn }, { reason: "asked" });
}

/** Shortens the conversation if the next request comes near the limit, or if requested. */
async function makeRoom(step: Step): Promise<void> {
  const { parts, model, tools, session } = step;
  await session.compactIfAsked(() => shorten(step, { reason: "asked" }));
  step.turn.soft.throwIfAborted();
  const known = parts.limits(model.id);
  if (!known.compacts) return;
  const transcript = await session.transcript();
  const limits = limitsFor(known, transcript.learnedLimit(model.id));
  if (requestTokens(transcript, () => prefixTokens(tools)) <= roomOf(limits)) return;
  await shorten(step, { reason: "limit" });
}

async function shorten(step: Step, cause: Cause): Promise<Compacted | undefined> {
  const { parts, model } = step;
  const { compact } = await import("./compaction.ts");
  return await compact({
    ...step,
    limits: parts.limits(model.id),
    cost: (usage) => parts.cost(model.id, usage),
    new_lane_id: parts.new_lane_id,
  }, cause);
}

/** Asks the model; if its provider finds the conversation too long, shortens it and asks again. */
async function askModel(step: Step): Promise<Answer> {
  for (let refusals = 1;; refusals++) {
    try {
      return await askOnce(step);
    } catch (error) {
      if (!(error instanceof ModelError) || error.too_long === undefined) throw error;
      if (refusals > REFUSALS_MAX) throw error;
      await step.session.emit("lane.note", {
        lane_id: MAIN_LANE,
        text: `${error.message}; shortening the conversation`,
        reason_code: MODEL_RETRY,
      });
      const done = await shorten(step, { reason: "too_long", refused: error.too_long });
      if (done === undefined) throw error;
    }
  }
}

async function askOnce(step: Step): Promise<Answer> {
  const { parts, model, tools, session, turn, continues } = step;
  const transcript = await session.transcript();
  const seen_seq = session.published_seq;
  session.takeFresh();
  const request = {
    system: SYSTEM_PROMPT,
    messages: transcript.prompt(),
    tools: tools.map((tool) => tool.spec),
    signal: turn.signal,
  };
  const attempt = async () => {
    const calls: ToolCall[] = [];
    const before = session.state.turn?.text ?? "";
    const joined = continues || before === "" || before.endsWith("\n");
    let separator = joined ? "" : STEP_SEPARATOR;
    let said = false;
    for await (const part of model.stream(request)) {
      if (part.type === "text") {
        session.emitText(turn.turn_id, separator + part.text);
        separator = "";
        said ||= part.text.trim() !== "";
      } else if (part.type === "call") calls.push(part.call);
      else if (part.type === "skipped") {
        await session.emit("lane.note", {
          lane_id: MAIN_LANE,
          text: part.reason,
          reason_code: MODEL_SKIPPED,
        });
      } else return { calls, said, reason: part.reason, usage: part.usage };
    }
    throw new ModelError("the model's answer ended early", { retryable: true });
  };
  const { usage, ...answer } = await withRetries(session, turn, attempt);
  const cost = {
    usd_delta: parts.cost(model.id, usage),
    tokens_in: usage.tokens_in,
    tokens_out: usage.tokens_out,
    tokens_cached: usage.tokens_cached,
  };
  const learned = transcript.learnedLimit(model.id);
  const { context_tokens } = limitsFor(parts.limits(model.id), learned);
  // Some servers do not count tokens.
  const context_limit = usage.tokens_in > 0 ? context_tokens : undefined;
  await Promise.all([
    session.emit("cost.tick", { ...cost, seen_seq, context_limit, model: model.id }),
    session.emit("lane.cost", { lane_id: MAIN_LANE, ...cost }),
  ]);
  return answer;
}

// ── tool calls ─────────────────────────────────────────────────────────────────────────────────

/** Runs the calls of one answer in order; adjacent calls that only read run concurrently. */
async function runCalls(step: Step, calls: readonly ToolCall[]): Promise<ToolOutcome[]> {
  const outcomes: ToolOutcome[] = [];
  const accessOf = (call: ToolCall): Access | undefined =>
    step.tools.find((tool) => tool.spec.name === call.tool)?.access;
  for (let at = 0; at < calls.length;) {
    step.turn.soft.throwIfAborted();
    let end = at + 1;
    if (accessOf(calls[at]) === "read") {
      while (end < calls.length && accessOf(calls[end]) === "read") end++;
    }
    outcomes.push(...await Promise.all(calls.slice(at, end).map((call) => runCall(step, call))));
    at = end;
  }
  return outcomes;
}
