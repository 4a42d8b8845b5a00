/** Records, approves and runs the calls of a turn; a long call gets its own lane. */
import { messageOf } from "../protocol/errors.ts";
import type { Attachment } from "../protocol/attachments.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { Session, TurnSession } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import type { ToolCall } from "../models/model.ts";
import { askPerson, type QuestionOutcome } from "../session/person_answers.ts";
import { isWorkTitle } from "../session/ids.ts";
import { type CallHooks, type HookedCall, withContext } from "./call_hooks.ts";
import type { AddedRoot } from "../jail/added_directories.ts";
import { CommandAborted } from "../jail/command.ts";
import { watchLane } from "./tool_lane.ts";
import type { Ruling } from "./ruling.ts";
import { connectOf } from "./connect.ts";
import type {
  Judged,
  LocatedArgs,
  LocateScope,
  Preview,
  Subagent,
  SubagentEnd,
  Tool,
  ToolOutcome,
  ToolScope,
} from "./tool.ts";

/** The result of a call that was running when its daemon stopped. */
export const UNKNOWN_OUTCOME =
  "svc was stopped while this call ran; it may or may not have taken effect";

/** The result of a call that a person did not allow. */
export function deniedText(message: string | undefined): string {
  const denied = "denied: the person did not allow this call";
  return message === undefined ? denied : `${denied}, and says: ${message}`;
}

export interface CallParts<S = Session> extends CallHooks<S> {
  /** Returns the paths that the session's tools must not see. */
  hidden(session: S): string[];
  /** Returns the added directories that the session's calls may use now. */
  added(session: S): AddedRoot[];
  /** Called before an allowed call that may change files. */
  beforeWrite?(session: S, turn: Turn): Promise<void>;
  /**
   * Follows the session's directory if it was renamed.
   *
   * @returns why calls cannot work there, if it is gone
   */
  findDirectory?(session: S): Promise<string | undefined>;
  new_lane_id(): string;
  /** Returns what the person's rules say about a call. */
  judge(session: S, tool: Judged, args: unknown): Promise<Ruling>;
}

export interface CallContext {
  parts: CallParts<TurnSession>;
  tools: readonly Tool[];
  session: TurnSession;
  turn: Turn;
  /** Runs a subagent for a call, if it can have one. */
  delegate?(subagent: Subagent): Promise<SubagentEnd>;
  /** What the person said of the call before its turn was cut off. */
  said?: Said;
  /** Whether the person makes the call: no rule, hook or question stands before it. */
  by_person?: boolean;
}

/** What a person has said of a call. */
export interface Said {
  /** The arguments with which it may run. */
  allowed?: unknown;
  answer?: QuestionOutcome;
}

/**
 * Records a call, asks for approval if needed, runs it and records the result.
 *
 * @returns the result, also of a tool that fails
 * @throws the turn's reason if the turn is stopped immediately
 */
export async function runCall(step: CallContext, call: ToolCall): Promise<ToolOutcome> {
  const { call_id, tool, args, echo, written } = call;
  const lane_id = MAIN_LANE;
  const by = step.by_person ? { by: "person" as const } : {};
  await step.session.emit("session.tool_started", {
    call_id,
    tool,
    args,
    lane_id,
    echo,
    written,
    ...by,
  });
  return await finishCall(step, call);
}

/**
 * Continues after the record that a call has begun. If the turn is left for the next daemon, a call
 * that can be repeated gets no result yet.
 *
 * @returns as {@linkcode runCall}
 */
export async function finishCall(step: CallContext, call: ToolCall): Promise<ToolOutcome> {
  const { turn } = step;
  const progress = new CallProgress();
  let outcome: ToolOutcome;
  try {
    outcome = await perform(step, call, progress);
  } catch (error) {
    if (turn.left && turn.soft.aborted && !progress.acts) throw turn.soft.reason;
    outcome = { ok: false, output: failureOf(error, turn, progress) };
  }
  outcome = await recordOutcome(step, call, outcome, progress.duration_ms);
  turn.signal.throwIfAborted();
  return outcome;
}

/** The result of a failed call; a stopped command keeps its output. */
function failureOf(
  error: unknown,
  { left, signal, soft }: Turn,
  { cut_off }: CallProgress,
): string {
  const stopped = error instanceof CommandAborted ? error : undefined;
  const message = messageOf(stopped?.cause ?? error);
  const said = left
    ? signal.aborted || cut_off ? UNKNOWN_OUTCOME : message
    : soft.aborted
    ? "stopped"
    : message;
  const written = stopped?.output.trimEnd() ?? "";
  return written === "" ? said : `${written}\n[${said}]`;
}

/** Whether a call that was cut off is simply made again. */
export function repeats({ access, idempotent = false }: Pick<Tool, "access" | "idempotent">) {
  return access === "read" || idempotent;
}

/** Records the result of a call. @returns what was recorded. */
export async function recordOutcome(
  { session }: CallContext,
  { call_id, tool }: ToolCall,
  outcome: ToolOutcome,
  duration_ms: number,
): Promise<ToolOutcome> {
  const attachments = await keepMedia(session, outcome).catch((error): Attachment[] => {
    outcome = { ok: false, output: `its images could not be kept: ${messageOf(error)}` };
    return [];
  });
  const { ok, output, truncated = false, exit_code, looks, changes } = outcome;
  await session.emit("session.tool_completed", {
    call_id,
    tool,
    ok,
    duration_ms,
    output,
    truncated,
    exit_code,
    ...(looks && { looks }),
    ...(ok && changes && { changes }),
    ...(attachments.length > 0 && { attachments }),
  });
  return outcome;
}

/** Stores the images and documents of a result, before an event names them. */
export async function keepMedia(
  session: Pick<TurnSession, "attachments">,
  { media = [], attachments = [] }: Pick<ToolOutcome, "media" | "attachments">,
): Promise<Attachment[]> {
  const kept = [...attachments];
  if (media.length === 0) return kept;
  const store = await session.attachments();
  for (const each of media) kept.push(await store.put(each));
  return kept;
}

/** Follows a call, and measures it without the time that a person takes to decide. */
class CallProgress {
  /** Whether it may have had an effect, so that it cannot be repeated. */
  acts = false;
  /** Whether it was ended because its turn should stop. */
  cut_off = false;

  readonly #started = performance.now();
  #waited = 0;

  get duration_ms(): number {
    return Math.round(performance.now() - this.#started - this.#waited);
  }

  async wait<T>(decision: Promise<T>): Promise<T> {
    const from = performance.now();
    try {
      return await decision;
    } finally {
      this.#waited += performance.now() - from;
    }
  }
}

async function perform(
  step: CallContext,
  call: ToolCall,
  progress: CallProgress,
): Promise<ToolOutcome> {
  const { parts, tools, session, turn, delegate, said = {} } = step;
  const tool = tools.find((it) => it.spec.name === call.tool);
  if (tool === undefined) {
    const names = tools.map((it) => it.spec.name).join(", ");
    return { ok: false, output: `unknown tool ${call.tool}; available tools: ${names}` };
  }
  const made = await makeReady(step, tool, call.args);
  if ("problem" in made) return { ok: false, output: made.problem };
  const { by_person = false } = step;
  const admitted: Admitted & Approved = by_person
    ? { ready: made, ruling: {} }
    : await admit(step, call.call_id, tool, made, progress);
  const { context, ruling, ready: { args, located, scope } } = admitted;
  const { root } = located;
  const { workdir } = scope;
  const hooked: HookedCall = { call_id: call.call_id, tool, args };
  const preview = () => tool.preview?.(args, { ...scope, reader: session.reader });
  const asked_about = tool.risk?.(args, workdir);
  // A hook may make something else of it now than the person has seen.
  const allowed = said.allowed !== undefined &&
    JSON.stringify(said.allowed) === JSON.stringify(args);
  const { refusal, by_rule = false } = by_person || "refusal" in admitted
    ? admitted
    : await decideCall({ ...hooked, workdir, preview, allowed }, ruling, session, turn, progress);
  if (turn.continued) await session.approvals.settle(call.call_id, refusal ? "deny" : "allow");
  if (refusal !== undefined) return withContext({ ok: false, output: refusal }, context);
  if (tool.access === "write" || tool.access === "execute") {
    await parts.beforeWrite?.(session, turn);
    turn.signal.throwIfAborted();
    // Only a search of the whole directory finds everything that leads to a file.
    const risk = asked_about ?? tool.risk?.(args, workdir);
    if (asked_about === undefined && risk !== undefined && !by_person) {
      const output = `${tool.describe(args)}: ${risk.runner}; make this call again, so that the ` +
        "person can be asked";
      return withContext({ ok: false, output }, context);
    }
  }
  const now = parts.added(session);
  const place = root &&
    now.find(({ path, access }) => path === root.path && access === root.access);
  if (root !== undefined && place === undefined) {
    const output = `${root.path}: was removed from this session, or has changed, meanwhile`;
    return withContext({ ok: false, output }, context);
  }
  progress.acts = !repeats(tool);
  const { call_id } = call;
  const withNotes = (outcome: ToolOutcome, ...contexts: (string | undefined)[]) =>
    withContext({ ...outcome, output: [...located.notes, outcome.output].join("\n") }, ...contexts);
  const label = tool.describe(args);
  const lane = watchLane(session, turn, parts.new_lane_id, { call_id, label }, tool);
  try {
    const outcome = await tool.run(args, {
      session_id: session.id,
      call_id,
      reader: session.reader,
      workdir: session.state.workdir,
      hidden: parts.hidden(session),
      added: now,
      ...placeOf(place),
      signal: lane.signal,
      onOutput: lane.output,
      delegate: delegate && ((subagent) => {
        turn.soft.throwIfAborted();
        progress.acts = true;
        return delegate(subagent);
      }),
      ...(tool.access === "network" ? { mayReach: reachOf(parts, session, tool, by_rule) } : {}),
      ...(tool.access === "execute"
        ? { mayConnect: connectOf(parts, session, turn, { call_id, label }, progress) }
        : {}),
      async askPerson(question) {
        // Nobody is there; the tool is offered for the common prefix.
        if (isWorkTitle(session.state.title)) return "nobody";
        if (said.answer !== undefined) return said.answer;
        const asking = { call_id, tool: call.tool };
        return await progress.wait(askPerson(session.approvals, asking, question, turn.soft));
      },
    });
    await session.approvals.withdraw(call_id);
    await lane.end(outcome.ok ? "done" : "errored");
    if (turn.soft.aborted || by_person) return withNotes(outcome, context);
    const hooks = parts.afterCall?.(session, hooked, outcome, turn.soft) ?? Promise.resolve("");
    // Keep the call's result, whatever stops its hooks.
    const after = await progress.wait(hooks.catch(() => ""));
    return withNotes(outcome, context, after);
  } catch (error) {
    // Withdraw its questions; the end of a turn does that itself.
    if (!turn.soft.aborted) await session.approvals.withdraw(call_id);
    progress.cut_off = lane.overdue;
    await lane.end(turn.signal.aborted || lane.overdue ? "cancelled" : "errored");
    throw error;
  }
}

/** The scope of a call that works in an added directory. */
function placeOf(
  root: AddedRoot | undefined,
): Partial<Pick<ToolScope, "workdir" | "hidden" | "prefix">> {
  return root === undefined
    ? {}
    : { workdir: root.path, hidden: root.hidden, prefix: `${root.path}/` };
}

/**
 * Decides about redirects of a fetch: the rules hold as for its first address, and a fetch that a
 * rule allowed goes only where rules allow it.
 */
function reachOf(
  { judge }: CallParts<TurnSession>,
  session: TurnSession,
  tool: Tool,
  by_rule: boolean,
): (url: string) => Promise<string | undefined> {
  return async (url) => {
    const { action, by } = await judge(session, tool, { url });
    if (action === "deny") return `denied by the rule ${by}`;
    if (by_rule && action !== "allow") return `no rule allows ${URL.parse(url)?.host ?? url}`;
  };
}

/** A call that can be tried before a person is asked. */
interface TriedCall extends HookedCall {
  /** The directory that it works in. */
  workdir: string;
  preview(): Promise<Preview> | undefined;
  /** Whether the person has allowed it before its turn was cut off. */
  allowed?: boolean;
}

interface Approved {
  /** Why it must not run, if so. */
  refusal?: string;
  /** Whether only a rule allowed it. */
  by_rule?: boolean;
}

/** A call whose arguments fit its tool. */
interface ReadyCall {
  /** As the model or a hook wrote them. */
  written: Readonly<Record<string, unknown>>;
  /** As the tool gets them. */
  args: unknown;
  located: LocatedArgs;
  scope: LocateScope & Partial<Pick<ToolScope, "prefix">>;
}

/** Checks the arguments of a call and finds where it works. */
async function makeReady(
  { parts, session, turn }: CallContext,
  tool: Tool,
  given: unknown,
): Promise<ReadyCall | { problem: string }> {
  const { args: written, problem } = tool.parse(given);
  if (problem !== undefined) return { problem: `invalid arguments:\n${problem}` };
  const lost = await parts.findDirectory?.(session);
  if (lost !== undefined) return { problem: lost };
  const own = {
    session_id: session.id,
    workdir: session.state.workdir,
    hidden: parts.hidden(session),
    added: parts.added(session),
    signal: turn.signal,
  };
  const located: LocatedArgs = await tool.locate?.(written, own) ?? { args: written, notes: [] };
  if (located.problem !== undefined) return { problem: located.problem };
  const scope = { ...own, ...placeOf(located.root) };
  const args = await tool.prepare(located.args, scope.workdir, session.id);
  return { written: written as ReadyCall["written"], args, located, scope };
}

interface Admitted {
  ready: ReadyCall;
  /** What rules and hooks say. */
  ruling: Ruling;
  /** Text from hooks for the model. */
  context?: string;
}

/**
 * Decides by the person's rules, then by the hooks. What a hook changes must fit the tool, and the
 * rules hold for it as if the model had written it.
 */
async function admit(
  step: CallContext,
  call_id: string,
  tool: Tool,
  ready: ReadyCall,
  progress: CallProgress,
): Promise<Admitted & Approved> {
  const { parts: { judge, beforeCall }, session, turn } = step;
  let ruling = await judge(session, tool, ready.args);
  if (ruling.action === "deny") return { ready, ruling, refusal: deniedBy(ruling) };
  const given = ready;
  const change = async (args: Readonly<Record<string, unknown>>) => {
    const again = await makeReady(step, tool, { ...ready.written, ...args });
    if (!("problem" in again)) ready = again;
    return again;
  };
  const hooks = beforeCall?.(session, { call_id, tool, args: ready.args, change }, turn.soft);
  const verdict = await progress.wait(hooks ?? Promise.resolve(undefined)) ?? {};
  const { action: said, reason = "", context } = verdict;
  if (said === "deny") {
    const refusal = `refused: ${reason}; do not try to do it in another way`;
    return { ready, ruling, refusal, context };
  }
  if (ready !== given) {
    ruling = await judge(session, tool, ready.args);
    if (ruling.action === "deny") return { ready, ruling, refusal: deniedBy(ruling), context };
  }
  // A hook can only be stricter than a rule; without a rule it may allow like one.
  const action = said === "ask" ? said : ruling.action ?? said;
  const by = said === "ask" ? reason : ruling.by;
  return { ready, ruling: { ...ruling, action, by }, context };
}

function deniedBy({ by }: Ruling): string {
  return `denied by the person's rule ${by}; do not try to do it in another way`;
}

/**
 * Decides by what rules and hooks say, then by the approval mode (contract.md section 5), and asks
 * if needed. A rule allows calls only in sessions that ask, and never one that also needs approval
 * in `auto`.
 */
async function decideCall(
  { tool, args, call_id, workdir, preview, allowed }: TriedCall,
  { action, by, choices }: Ruling,
  session: TurnSession,
  turn: Turn,
  progress: CallProgress,
): Promise<Approved> {
  const { approval, trust } = session.state;
  const must_ask = action === "ask";
  if (tool.access === "read" && !must_ask) return {};
  const beyond = tool.beyond?.(args);
  if (trust === "untrusted" && beyond !== undefined) {
    return { refusal: `refused: work for others must not run a command ${beyond}` };
  }
  const risk = tool.risk?.(args, workdir);
  const certain = risk === undefined && beyond === undefined && !tool.asks_in_auto(args, workdir);
  if (approval === "auto") {
    if (trust === "untrusted" && risk !== undefined && risk.only !== "new") {
      const { runner } = risk;
      return { refusal: `refused: work for others must not ${tool.describe(args)}: ${runner}` };
    }
    if (trust === "untrusted" && must_ask) {
      return { refusal: `refused because of ${by}: sessions that work for others ask nobody` };
    }
    // The memory itself refuses what work for others must not save.
    if (!must_ask && (trust === "untrusted" || !tool.asks_in_auto(args, workdir))) return {};
  }
  if (approval === "read_only" && tool.access !== "read") {
    return {
      refusal: `refused: this session is read_only and ${tool.spec.name} changes something`,
    };
  }
  if (action === "allow" && certain && trust === "trusted") return { by_rule: true };
  if (!must_ask && !tool.asks(args)) return {};
  if (approval === "workspace" && certain && !must_ask && await tool.stays?.(args, session.id)) {
    return {};
  }
  if (allowed) return {};
  // Nobody is asked about a call that cannot succeed.
  const { problem, changes } = await preview() ?? {};
  if (problem !== undefined) return { refusal: problem };
  const replaces =
    tool.spec.name === "write_file" && changes?.some((it) => it.before !== undefined || it.replaced)
      ? "replaces a file that is there"
      : undefined;
  const held = await tool.held?.(args, session.id);
  const notes = [replaces, risk?.runner, held, must_ask ? `asked because of ${by}` : undefined]
    .filter((it) => it !== undefined).join("; ");
  const decided = session.approvals.consult({
    call_id,
    tool: tool.spec.name,
    args,
    reason: notes === "" ? tool.describe(args) : `${tool.describe(args)} (${notes})`,
    // "Always" for other calls of this tool does not cover this call.
    rule: must_ask
      ? `only this call, because of ${by}`
      : risk === undefined
      ? tool.rule(args)
      : `${tool.rule(args)} ${JSON.stringify(args)}`,
    choices: certain && !must_ask && trust === "trusted" ? choices?.() : undefined,
    ...(changes === undefined ? {} : { changes }),
  }, { signal: turn.soft, each_time: must_ask });
  const { decision, message } = await progress.wait(decided);
  return decision === "deny" ? { refusal: deniedText(message) } : {};
}
