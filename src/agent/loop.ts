/** One turn: the model is asked, its tools run, it is asked again, until it has nothing to call. */
import pRetry from "p-retry";
import { delay } from "@std/async";
import { MAIN_LANE, MODEL_RETRY, MODEL_SKIPPED } from "../protocol/events.ts";
import type { Session, Turn, TurnEnd } from "../session/session.ts";
import { type Model, ModelError, type ToolCall, type Usage } from "../models/model.ts";
import { spentBudget } from "./budget.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import { type CallParts, runCall } from "./calls.ts";
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
  /** Model calls a turn may make. */
  max_steps(): number;
  /** What a model call cost, in USD. */
  cost(model_id: string, usage: Usage): number;
}

/** Between the texts of two steps, which would run together else. */
const STEP_SEPARATOR = "\n\n";
const RETRIES = 4;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;
/** A provider that asks for a longer wait is not waited for. */
const RETRY_AFTER_MAX_MS = 60_000;

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

async function askModel({ parts, model, tools, session, turn }: Step): Promise<ToolCall[]> {
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
  const { calls, usage } = await pRetry(attempt, {
    retries: RETRIES,
    minTimeout: RETRY_MIN_MS,
    maxTimeout: RETRY_MAX_MS,
    randomize: true,
    signal: turn.signal,
    shouldRetry: ({ error, attemptNumber, retryDelay }) =>
      noteRetry(session, turn, error, attemptNumber, retryDelay),
  });
  const cost = {
    usd_delta: parts.cost(model.id, usage),
    tokens_in: usage.tokens_in,
    tokens_out: usage.tokens_out,
    tokens_cached: usage.tokens_cached,
  };
  await Promise.all([
    session.emit("cost.tick", { ...cost, seen_seq }),
    session.emit("lane.cost", { lane_id: MAIN_LANE, ...cost }),
  ]);
  return calls;
}

/** Decides about another attempt, and makes it visible before it is waited for. */
async function noteRetry(
  session: Session,
  turn: Turn,
  error: Error,
  attempt: number,
  backoff_ms: number,
): Promise<boolean> {
  if (!(error instanceof ModelError) || !error.retryable) return false;
  const attempts = Math.min(error.attempts ?? Infinity, RETRIES + 1);
  if (attempt >= attempts) return false;
  const asked_ms = error.retry_after_ms ?? 0;
  if (asked_ms > RETRY_AFTER_MAX_MS) return false;
  const wait_ms = Math.max(backoff_ms, asked_ms);
  await session.emit("lane.note", {
    lane_id: MAIN_LANE,
    text: `${error.message}; trying again in ${(wait_ms / 1000).toFixed(1)} s ` +
      `(attempt ${attempt + 1} of ${attempts})`,
    reason_code: MODEL_RETRY,
  });
  await delay(wait_ms - backoff_ms, { signal: turn.signal });
  return true;
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
