/** One turn: the model is asked, its tools run, it is asked again, until it has nothing to call. */
import { type Compacted, MAIN_LANE, MODEL_RETRY, MODEL_SKIPPED } from "../protocol/events.ts";
import type { Session, Turn, TurnEnd } from "../session/session.ts";
import type { Limits } from "../models/limits.ts";
import { type Model, ModelError, type ToolCall, type Usage } from "../models/model.ts";
import { spentBudget } from "./budget.ts";
import type { Cause } from "./compaction.ts";
import { limitsFor, prefixTokens, requestTokens, roomOf } from "./context.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import { type CallParts, runCall } from "./calls.ts";
import { withRetries } from "./retries.ts";
import type { Access, Tool } from "./tools.ts";

/** What a turn needs, whoever thinks in it. */
export interface TurnParts extends CallParts {
  /** Records what the memory has for a turn, before its first model call. */
  recall(session: Session, turn: Turn): Promise<void>;
  /** Budget of a session that has none of its own, in USD. */
  budget_usd(): number | undefined;
  /** Whether the critic reads what a trusted session is about to say, too. */
  critic(): boolean;
}

export interface LoopParts extends TurnParts {
  /** Finds a model by its id; throws with a message for the person when there is none. */
  model(id: string): Promise<Model>;
  /**
   * The tools of a session for one step: those of this program first, always in the same order.
   *
   * @throws the signal's reason.
   */
  tools(session: Session, signal: AbortSignal): Promise<readonly Tool[]>;
  /** Records what a turn's model is told of where it works, before its first call. */
  tell(session: Session, turn: Turn): Promise<void>;
  /** Records what it is told of the places that a step's calls were about, before the next call. */
  touched(session: Session, turn: Turn, calls: readonly ToolCall[]): Promise<void>;
  /** How much a model takes and gives. */
  limits(model_id: string): Limits;
  /** Model calls a turn may make. */
  max_steps(): number;
  /** What a model call cost, in USD. */
  cost(model_id: string, usage: Usage): number;
}

/** Between the texts of two steps, which would run together else. */
const STEP_SEPARATOR = "\n\n";
/** How often a conversation that the provider finds too long is made shorter for one request. */
const REFUSALS_MAX = 3;

/** One step of a turn: one model call and the calls it asks for. */
interface Step {
  parts: LoopParts;
  model: Model;
  tools: readonly Tool[];
  session: Session;
  turn: Turn;
}

/** Makes the function that runs a session's turns. */
export function turnRunner(parts: LoopParts): (session: Session, turn: Turn) => Promise<TurnEnd> {
  return async (session, turn) => {
    const model = await parts.model(session.state.model);
    const max_steps = parts.max_steps();
    await Promise.all([parts.recall(session, turn), parts.tell(session, turn)]);
    for (let count = 1; count <= max_steps; count++) {
      if (turn.soft.aborted) return { stop_reason: "interrupted" };
      const spent = spentBudget(session.state, parts.budget_usd());
      if (spent !== undefined) return { stop_reason: "budget", error: spent };
      const tools = await parts.tools(session, turn.soft);
      const current = { parts, model, tools, session, turn };
      await makeRoom(current);
      const calls = await askModel(current);
      if (calls.length > 0) {
        await runCalls(current, calls);
        await parts.touched(session, turn, calls);
      } else if (!session.fresh) return await criticised(session, parts);
    }
    return { stop_reason: "budget", error: `the limit of ${max_steps} steps a turn is reached` };
  };
}

/**
 * Has the critic read what a turn said. What an untrusted session says is for someone else than the
 * person, so it always does; a person's own sessions it reads where that is asked for.
 *
 * @returns how the turn ends.
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
 * Makes the conversation of a session shorter between its turns.
 *
 * @returns what was recorded; undefined when there is nothing worth leaving out.
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

/** Makes the conversation shorter where the next request comes near the limit, or somebody asked. */
async function makeRoom(step: Step): Promise<void> {
  const { parts, model, tools, session } = step;
  await session.compactIfAsked(() => shorten(step, { reason: "asked" }));
  step.turn.soft.throwIfAborted();
  const transcript = await session.transcript();
  const limits = limitsFor(parts.limits(model.id), transcript.learnedLimit(model.id));
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

/** Asks the model; where its provider finds the conversation too long, again with a shorter one. */
async function askModel(step: Step): Promise<ToolCall[]> {
  for (let refusals = 1;; refusals++) {
    try {
      return await askOnce(step);
    } catch (error) {
      if (!(error instanceof ModelError) || error.too_long === undefined) throw error;
      if (refusals > REFUSALS_MAX) throw error;
      await step.session.emit("lane.note", {
        lane_id: MAIN_LANE,
        text: `${error.message}; the conversation is made shorter`,
        reason_code: MODEL_RETRY,
      });
      const done = await shorten(step, { reason: "too_long", refused: error.too_long });
      if (done === undefined) throw error;
    }
  }
}

async function askOnce({ parts, model, tools, session, turn }: Step): Promise<ToolCall[]> {
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
    const said = session.state.turn?.text ?? "";
    let separator = said === "" || said.endsWith("\n") ? "" : STEP_SEPARATOR;
    for await (const part of model.stream(request)) {
      if (part.type === "text") {
        session.emitText(turn.turn_id, separator + part.text);
        separator = "";
      } else if (part.type === "call") calls.push(part.call);
      else if (part.type === "skipped") {
        await session.emit("lane.note", {
          lane_id: MAIN_LANE,
          text: part.reason,
          reason_code: MODEL_SKIPPED,
        });
      } else return { calls, usage: part.usage };
    }
    throw new ModelError("the model's answer ended early", { retryable: true });
  };
  const { calls, usage } = await withRetries(session, turn, attempt);
  const cost = {
    usd_delta: parts.cost(model.id, usage),
    tokens_in: usage.tokens_in,
    tokens_out: usage.tokens_out,
    tokens_cached: usage.tokens_cached,
  };
  const learned = transcript.learnedLimit(model.id);
  const { context_tokens } = limitsFor(parts.limits(model.id), learned);
  // Some servers count nothing.
  const context_limit = usage.tokens_in > 0 ? context_tokens : undefined;
  await Promise.all([
    session.emit("cost.tick", { ...cost, seen_seq, context_limit }),
    session.emit("lane.cost", { lane_id: MAIN_LANE, ...cost }),
  ]);
  return calls;
}

// ── tool calls ─────────────────────────────────────────────────────────────────────────────────

/** Runs the calls of one answer in order; neighbours that only read run at the same time. */
async function runCalls(step: Step, calls: readonly ToolCall[]): Promise<void> {
  const accessOf = (call: ToolCall): Access | undefined =>
    step.tools.find((tool) => tool.spec.name === call.tool)?.access;
  for (let at = 0; at < calls.length;) {
    step.turn.soft.throwIfAborted();
    let end = at + 1;
    if (accessOf(calls[at]) === "read") {
      while (end < calls.length && accessOf(calls[end]) === "read") end++;
    }
    await Promise.all(calls.slice(at, end).map((call) => runCall(step, call)));
    at = end;
  }
}
