/** One turn: the model is asked, its tools run, it is asked again, until it has nothing to call. */
import pRetry from "p-retry";
import { delay } from "@std/async";
import { messageOf } from "../platform/errors.ts";
import { MAIN_LANE, MODEL_RETRY } from "../session/events.ts";
import type { Session, Turn, TurnEnd } from "../session/session.ts";
import { type Model, ModelError, type ToolCall, type Usage } from "./models/model.ts";
import { spentBudget } from "./budget.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import type { Access, Tool, ToolOutcome } from "./tools.ts";
import { watchLane } from "./tool_lane.ts";

export interface LoopParts {
  /** Finds a model by its id; throws with a message for the person when there is none. */
  model(id: string): Promise<Model>;
  /**
   * The tools of a session for one step: those of this program first, always in the same order.
   *
   * @throws the signal's reason.
   */
  tools(session: Session, signal: AbortSignal): Promise<readonly Tool[]>;
  /** Records what the memory has for a turn, before its first model call. */
  recall(session: Session, turn: Turn): Promise<void>;
  /** Model calls a turn may make. */
  max_steps(): number;
  /** Budget of a session that has none of its own, in USD. */
  budget_usd(): number | undefined;
  /** What a model call cost, in USD. */
  cost(model_id: string, usage: Usage): number;
  /** Paths that the session's tools must not see. */
  hidden(session: Session): string[];
  new_lane_id(): string;
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
    await parts.recall(session, turn);
    for (let count = 1; count <= max_steps; count++) {
      if (turn.soft.aborted) return { stop_reason: "interrupted" };
      const spent = spentBudget(session.state, parts.budget_usd());
      if (spent !== undefined) return { stop_reason: "budget", error: spent };
      const tools = await parts.tools(session, turn.soft);
      const current = { parts, model, tools, session, turn };
      const calls = await askModel(current);
      if (calls.length > 0) await runCalls(current, calls);
      else if (!session.fresh) return await criticised(session);
    }
    return { stop_reason: "budget", error: `the limit of ${max_steps} steps a turn is reached` };
  };
}

/** What an untrusted session says is for someone else than the person: the critic reads it first. */
async function criticised({ state }: Session): Promise<TurnEnd> {
  if (state.trust === "trusted") return { stop_reason: "ok" };
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
    messages: transcript.messages(),
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
      else return { calls, usage: part.usage };
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
  const asked_ms = error.retry_after_ms ?? 0;
  if (asked_ms > RETRY_AFTER_MAX_MS) return false;
  const wait_ms = Math.max(backoff_ms, asked_ms);
  await session.emit("lane.note", {
    lane_id: MAIN_LANE,
    text: `${error.message}; trying again in ${(wait_ms / 1000).toFixed(1)} s ` +
      `(attempt ${attempt + 1} of ${RETRIES + 1})`,
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

async function runCall(step: Step, call: ToolCall): Promise<void> {
  const { session, turn } = step;
  const { call_id, tool: name, args, echo } = call;
  const lane_id = MAIN_LANE;
  await session.emit("session.tool_started", { call_id, tool: name, args, lane_id, echo });
  const started = performance.now();
  let outcome: ToolOutcome;
  try {
    outcome = await perform(step, call);
  } catch (error) {
    outcome = { ok: false, output: turn.soft.aborted ? "stopped" : messageOf(error) };
  }
  const { ok, output, truncated = false, exit_code } = outcome;
  const duration_ms = Math.round(performance.now() - started);
  await session.emit("session.tool_completed", {
    call_id,
    tool: name,
    ok,
    duration_ms,
    output,
    truncated,
    exit_code,
  });
  turn.signal.throwIfAborted();
}

async function perform(
  { parts, tools, session, turn }: Step,
  call: ToolCall,
): Promise<ToolOutcome> {
  const tool = tools.find((it) => it.spec.name === call.tool);
  if (tool === undefined) {
    const names = tools.map((it) => it.spec.name).join(", ");
    return { ok: false, output: `there is no tool ${call.tool}; the tools are ${names}` };
  }
  const { args, problem } = tool.parse(call.args);
  if (problem !== undefined) return { ok: false, output: `invalid arguments:\n${problem}` };
  const refusal = await approve(tool, args, call.call_id, session, turn);
  if (refusal !== undefined) return { ok: false, output: refusal };
  const lane = watchLane(session, turn, parts.new_lane_id, {
    call_id: call.call_id,
    label: tool.describe(args),
  });
  try {
    const outcome = await tool.run(args, {
      session_id: session.id,
      workdir: session.state.workdir,
      hidden: parts.hidden(session),
      signal: lane.signal,
      onOutput: lane.output,
    });
    await lane.end(outcome.ok ? "done" : "errored");
    return outcome;
  } catch (error) {
    await lane.end(turn.signal.aborted ? "cancelled" : "errored");
    throw error;
  }
}

/** Asks for an approval where one is needed (contract.md section 5). Returns why not, if not. */
async function approve(
  tool: Tool,
  args: unknown,
  call_id: string,
  session: Session,
  turn: Turn,
): Promise<string | undefined> {
  const { approval, allowed } = session.state;
  if (tool.access === "read" || approval === "auto") return undefined;
  if (approval === "read_only") {
    return `refused: this session is read_only and ${tool.spec.name} does more than read`;
  }
  const rule = tool.rule(args);
  if (!tool.asks(args) || allowed.includes(rule)) return undefined;
  const decision = await session.approvals.ask({
    call_id,
    tool: tool.spec.name,
    args,
    reason: tool.describe(args),
    rule,
  }, { signal: turn.soft });
  return decision === "deny" ? "denied: the person did not allow this call" : undefined;
}
