/** One turn: asks the model and runs its calls, until it makes no more calls. */
import type { Effort } from "../protocol/effort.ts";
import {
  type Compacted,
  MAIN_LANE,
  MODEL_RETRY,
  MODEL_SKIPPED,
  MODEL_TOLD,
} from "../protocol/events.ts";
import type { Session, TurnSession } from "../session/session.ts";
import type { Turn, TurnEnd } from "../session/turn.ts";
import type { Transcript } from "../session/transcript.ts";
import type { Limits } from "../models/limits.ts";
import { type Model, ModelError, type ToolCall, type Usage } from "../models/model.ts";
import { type Answer, Answers } from "./answers.ts";
import { allAttachments, filesFor, isCrowded, refusesAttachments } from "./attachments.ts";
import { spentBudget } from "./budget.ts";
import type { Left } from "./continuation.ts";
import type { Cause } from "./compaction.ts";
import { Fallbacks } from "./fallback.ts";
import { limitsFor, prefixTokens, requestTokens, roomOf } from "./context.ts";
import { SYSTEM_PROMPT } from "./prefix.ts";
import { type CallParts, runCall } from "./calls.ts";
import { requireProgress } from "./refusals.ts";
import { endOfFailure, parkedEnd, withRetries } from "./retries.ts";
import type { Access, Subagent, Tool, ToolOutcome } from "./tool.ts";

/** What a turn needs, whether a model or an agent over ACP answers it. */
export interface TurnParts<S = Session> extends CallParts<S> {
  /** Records what the memory knows about a turn, before its first model call. */
  recall(session: S, turn: Turn): Promise<void>;
  /** Returns the budget of a session without its own, in USD. */
  budget_usd(): number | undefined;
  /** Whether the critic also checks the answers of trusted sessions. */
  critic(): boolean;
}

export interface LoopParts<S = Session> extends TurnParts<S> {
  /** Finds a model by its id. @throws {UnknownModel} with a message for the person */
  model(id: string): Promise<Model>;
  /**
   * Returns a session's tools for one step, always in the same order.
   *
   * @throws the signal's reason
   */
  tools(session: S, signal: AbortSignal): Promise<readonly Tool[]>;
  /** Records the context message about the working directory, before the first model call. */
  tell(session: S, turn: Turn): Promise<void>;
  /** Records the context messages about places that a step's calls touched. */
  touched(session: S, turn: Turn, calls: readonly ToolCall[]): Promise<void>;
  /** Returns how many tokens a model accepts and writes. */
  limits(model_id: string): Limits;
  /** Returns the models that follow when a session's own one fails for good. */
  fallback(): readonly string[];
  max_steps(): number;
  /** Returns the cost of a model call, in USD. */
  cost(model_id: string, usage: Usage): number;
  /** Reports whether the cost of a model's calls is known. */
  priced(model_id: string): boolean;
  /** Whether the turns are a subagent's, which has no subagents. */
  readonly of_subagent?: boolean;
}

/** Separates the texts of two steps. */
const STEP_SEPARATOR = "\n\n";
/** How often a conversation is shortened for one request that is too long. */
const REFUSALS_MAX = 3;

/** One step of a turn: a model call and the tool calls in its answer. */
interface Step {
  parts: LoopParts<TurnSession>;
  model: Model;
  tools: readonly Tool[];
  session: TurnSession;
  turn: Turn;
  /** Whether the answer continues one that was cut off. */
  continues?: boolean;
  /** Holds for a whole turn: calls refer to earlier reasoning. */
  effort?: Effort;
  /** What an earlier daemon did with the answer's calls. */
  left?: Left["last"];
}

/** Returns the function that runs a session's turns. */
export function turnRunner(parts: LoopParts): (session: Session, turn: Turn) => Promise<TurnEnd> {
  return async (session, turn) => {
    if (session.state.turn?.run === undefined) return await runLoop(parts, session, turn);
    const { runPersonCommand } = await import("./person_command.ts");
    return await runPersonCommand(parts, session, turn);
  };
}

/** @throws {Error} for a failure without its own stop reason */
async function runLoop(
  parts: LoopParts<TurnSession>,
  session: TurnSession,
  turn: Turn,
): Promise<TurnEnd> {
  try {
    return await runTurn(parts, session, turn);
  } catch (error) {
    const was_parked = session.state.turn?.parked_since !== undefined;
    const end = parkedEnd(error, turn, was_parked) ?? endOfFailure(error);
    if (end === undefined) throw error;
    return end;
  }
}

async function runTurn(
  parts: LoopParts<TurnSession>,
  session: TurnSession,
  turn: Turn,
): Promise<TurnEnd> {
  let { approval } = session.state;
  let effort = (turn.continued ? session.state.turn : session.state)?.effort;
  const { max_steps = parts.max_steps(), max_usd = Infinity } = session.state.turn?.limits ?? {};
  const cost_before = session.state.cost_usd - (session.state.turn?.usage.usd ?? 0);
  const before = turn.continued
    ? await (await import("./continuation.ts")).readLeft(session)
    : undefined;
  const models = new Fallbacks(parts, session, before?.fallback);
  let model = await models.model();
  if (models.away) effort = undefined;
  if (before === undefined || before.steps === 0) {
    await Promise.all([
      before?.recalled ? undefined : parts.recall(session, turn),
      parts.tell(session, turn),
    ]);
  } else if (before.configured) await parts.tell(session, turn);
  const answers = before?.answers ?? new Answers();
  let continues = before?.continues ?? false;
  let left = before?.last;
  let { end, answered }: Next = {};
  for (let count = (before?.steps ?? 0) + 1; left !== undefined || count <= max_steps; count++) {
    if (left !== undefined) {
      const tools = await parts.tools(session, turn.soft);
      const step = { parts, model, tools, session, turn, left };
      left = undefined;
      count--;
      const { calls, reason } = step.left.answer;
      ({ end, answered } = await followUp(step, step.left.answer, answers));
      if (end !== undefined) return end;
      continues = reason === "length" && calls.length === 0;
      continue;
    }
    if (turn.soft.aborted) return { stop_reason: "interrupted" };
    const spent = spentBudget(session.state, parts.budget_usd());
    if (spent !== undefined) return { stop_reason: "budget", error: spent };
    if (session.state.cost_usd - cost_before >= max_usd) {
      return { stop_reason: "budget", error: `the limit of $${max_usd} for this turn is reached` };
    }
    // Another model has not reasoned before the calls that it is told.
    if (models.changed) effort = undefined;
    if (models.changed || session.state.approval !== approval) {
      model = await models.model();
      approval = session.state.approval;
      await parts.tell(session, turn);
    }
    const tools = await parts.tools(session, turn.soft);
    const step = { parts, model, tools, session, turn, continues, effort };
    let answer: Answer;
    try {
      await makeRoom(step);
      // The message to answer may have been withdrawn.
      if (answered && !session.holdFresh()) return await criticised(session, parts);
      answer = await askModel(step);
    } catch (error) {
      const next = await models.after(error);
      if (next === undefined) throw models.soonest(error, turn.parks_after_ms);
      model = next;
      // The other model has different levels and cannot read this reasoning.
      effort = undefined;
      count--;
      continue;
    }
    ({ end, answered } = await followUp(step, answer, answers));
    if (end !== undefined) return end;
    continues = answer.reason === "length" && answer.calls.length === 0;
  }
  return { stop_reason: "budget", error: `the limit of ${max_steps} steps per turn is reached` };
}

/** How a turn goes on after an answer. */
interface Next {
  end?: TurnEnd;
  /** It continues only for a message that came during the answer. */
  answered?: boolean;
}

async function followUp(step: Step, answer: Answer, answers: Answers): Promise<Next> {
  const { parts, session, turn, left } = step;
  const { calls } = answer;
  let { end, tell } = answers.judge(answer);
  if (end === undefined && calls.length > 0) {
    const outcomes = await runCalls(step, calls);
    await parts.touched(session, turn, calls);
    const repeated = answers.judgeCalls(calls, outcomes);
    end = repeated.end;
    tell ??= repeated.tell;
  }
  if (end !== undefined && end.stop_reason !== "ok") return { end };
  // A message that came during the answer is answered too.
  if (end !== undefined && !session.fresh) return { end: await criticised(session, parts) };
  if (tell !== undefined && !left?.told) {
    await session.emit("lane.note", { lane_id: MAIN_LANE, text: tell, reason_code: MODEL_TOLD });
  }
  return { answered: end !== undefined };
}

/**
 * Runs the critic on a turn's text. Output of untrusted sessions goes to others, so it is always
 * checked; a person's own sessions only if configured.
 *
 * @returns how the turn ends
 */
export async function criticised(
  { state }: Pick<TurnSession, "state">,
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
 * @returns the recorded event data; undefined if nothing is worth removing
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
  if (isCrowded(transcript.items)) await shorten(step, { reason: "attachments" });
  const tokens = () => requestTokens(transcript, () => prefixTokens(tools));
  const before = tokens();
  if (before <= roomOf(limits)) return;
  // Another summary of what cannot be shortened would only cost.
  if (before < (full.get(transcript) ?? 0) * WORTH_FACTOR) return;
  await shorten(step, { reason: "limit" });
  const after = tokens();
  if (after > roomOf(limits)) full.set(transcript, after);
}

/** Conversations that could not be shortened enough, with their tokens then. */
const full = new WeakMap<Transcript, number>();
/** How much such a conversation must grow to be worth another try. */
const WORTH_FACTOR = 1.25;

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

/** Asks the model; if the conversation is too long, shortens it and asks again. */
async function askModel(step: Step): Promise<Answer> {
  const { tools, session } = step;
  let before: string | undefined;
  for (let refusals = 1;; refusals++) {
    try {
      return await askOnce(step);
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      const transcript = await session.transcript();
      const cause = causeOf(error, transcript) ??
        (refusals === 1 ? await perhapsTooLong(error, step) : undefined);
      if (cause === undefined || refusals > REFUSALS_MAX) throw error;
      if (cause.reason === "too_long") {
        const tokens = requestTokens(transcript, () => prefixTokens(tools));
        requireProgress(error, { left: transcript.refused_tokens, tokens, before });
        before = error.message;
      }
      const without = cause.reason === "attachments"
        ? "asking again without images and documents that it has not accepted yet"
        : "shortening the conversation";
      await session.emit("lane.note", {
        lane_id: MAIN_LANE,
        text: `${error.message}; ${without}`,
        reason_code: MODEL_RETRY,
      });
      const done = await shorten(step, cause);
      if (done === undefined) throw error;
    }
  }
}

/** Returns why to shorten a refused request, if that would help. */
function causeOf(error: ModelError, { items }: Transcript): Cause | undefined {
  const { too_long } = error;
  if (too_long !== undefined) return { reason: "too_long", refused: too_long };
  if (!refusesAttachments(error) || allAttachments(items) === undefined) return undefined;
  return { reason: "attachments", refused: {} };
}

/**
 * A large request that is refused in unknown words may be too long. Worth one try, unless the words
 * are about something else.
 */
async function perhapsTooLong(
  { status, message, filtered, limited }: ModelError,
  { parts, model, session, tools }: Step,
): Promise<Cause | undefined> {
  if (status === undefined || !UNCLEAR.has(status)) return undefined;
  if (filtered || limited || ELSEWHERE.test(message)) return undefined;
  const known = parts.limits(model.id);
  const transcript = await session.transcript();
  const tokens = requestTokens(transcript, () => prefixTokens(tools));
  const large = limitsFor(known, transcript.learnedLimit(model.id)).context_tokens / 2;
  return known.compacts && tokens > large ? { reason: "too_long", refused: {} } : undefined;
}

const UNCLEAR: ReadonlySet<number> = new Set([400, 413, 422, 500]);
const ELSEWHERE =
  /api.?key|schema|not found|not exist|no such|unsupported|not supported|unknown (?:field|parameter|model)|billing|credit/i;

async function askOnce(step: Step): Promise<Answer> {
  const { parts, model, tools, session, turn, continues, effort } = step;
  let transcript = await session.transcript();
  while (!session.takeFresh()) transcript = await session.transcript();
  const seen_seq = session.published_seq;
  const messages = transcript.prompt();
  const request = {
    system: SYSTEM_PROMPT,
    messages,
    files: await filesFor(session, messages, model),
    tools: tools.map((tool) => tool.spec),
    effort,
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
      } else if (part.type === "reasoning") session.emitReasoning(turn.turn_id, part.text);
      else if (part.type === "call") {
        const { readCall } = await import("./loose_call.ts");
        calls.push(readCall(tools, part.call));
      } else if (part.type === "skipped") {
        await session.emit("lane.note", {
          lane_id: MAIN_LANE,
          text: part.reason,
          reason_code: MODEL_SKIPPED,
        });
      } else {
        const { reason, usage, echo } = part;
        return { calls, said, reason, usage, echo };
      }
    }
    throw new ModelError("the model's answer ended early", { retryable: true });
  };
  const { usage, echo, ...answer } = await withRetries(session, turn, attempt);
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
  const { calls, reason } = answer;
  const ended = reason === "stop" && calls.length === 0;
  const answered = ended ? undefined : { reason, calls };
  await Promise.all([
    session.emit("cost.tick", {
      ...cost,
      seen_seq,
      context_limit,
      model: model.id,
      answered,
      echo,
      unpriced: parts.priced(model.id) ? undefined : true,
    }),
    session.emit("lane.cost", { lane_id: MAIN_LANE, ...cost }),
  ]);
  return answer;
}

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
    const group = calls.slice(at, end).map((call) => takeUpCall(step, call));
    // None may end after the turn.
    await Promise.allSettled(group);
    outcomes.push(...await Promise.all(group));
    at = end;
  }
  return outcomes;
}

/** Runs a call, unless an earlier daemon has done so. */
async function takeUpCall(step: Step, call: ToolCall): Promise<ToolOutcome> {
  const context = step.parts.of_subagent ? step : {
    ...step,
    async delegate(subagent: Subagent) {
      const { runSubagent } = await import("./subagent.ts");
      return await runSubagent({ ...step, runLoop }, subagent);
    },
  };
  const before = step.left?.calls.get(call.call_id);
  if (before === undefined) return await runCall(context, call);
  if (before.outcome !== undefined) return before.outcome;
  const { continueCall } = await import("./continuation.ts");
  return await continueCall(context, call, before);
}
