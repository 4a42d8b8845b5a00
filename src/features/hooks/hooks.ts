/** Hooks of the operator and of trusted projects: which run on an event, and what they answer. */
import type { CallHooks, HookedCall, HookVerdict } from "../../agent/call_hooks.ts";
import type { ToolOutcome } from "../../agent/tool.ts";
import { Semaphore } from "../../base/semaphore.ts";
import { exactLine } from "../../base/visible.ts";
import { type FoundProgram, personsPrograms, unfound } from "../../os/own_programs.ts";
import { endWithInput } from "../../os/program_with_input.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import type { Host } from "../../verbs/host.ts";
import { decide } from "../permissions/decide.ts";
import { callOf } from "../permissions/open.ts";
import { parseRule } from "../permissions/rule.ts";
import {
  type ClaudeCall,
  claudeCalls,
  claudeInputs,
  type ProgramEnd,
  readClaude,
} from "./claude_messages.ts";
import { type Hook, type HookEvent, HOOKS } from "./config.ts";
import { type HookAnswer, type HookInput, readAnswer } from "./messages.ts";
import type { ProjectHook, ProjectHookFiles } from "./project.ts";
import { type ProjectHost, runProjectHook } from "./project_run.ts";

/** The variables that a program gets; keys in the daemon's environment are left out. */
const PASSED = [
  ...["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ"],
  ...["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"],
  ...["SystemRoot", "SystemDrive", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP"],
];
/** Hooks that run at the same time; the others wait. */
const RUNNING_MAX = 8;
/** Hooks that nothing waits for and that may wait themselves; more are dropped. */
const QUEUED_MAX = 256;
const TEXT_MAX = 16_384;

/** An event, without what it says about its session. */
type Told<E extends HookEvent> = E extends HookEvent
  ? Omit<Extract<HookInput, { event: E }>, AboutKeys>
  : never;
type AboutKeys = Exclude<keyof Extract<HookInput, { event: "session.created" }>, "event">;

/** A hook of daemon.toml, or of a project. */
type AnyHook = Hook | ProjectHook;

/** How a hook ended: with an answer, or a problem. */
interface Ran {
  hook: AnyHook;
  answer: HookAnswer;
  problem?: string;
}

/** What of a project runs. */
export interface ProjectHooksOf {
  files: Pick<ProjectHookFiles, "read">;
  /** Reports whether a person trusts this content of a directory's files. */
  isTrusted(directory: string, text: string): Promise<boolean>;
}

export class Hooks implements Required<CallHooks<Session>>, AsyncDisposable {
  readonly #host: Pick<Host, "config" | "log"> & ProjectHost;
  readonly #project: ProjectHooksOf;
  readonly #env: Record<string, string>;
  readonly #find: (program: string) => FoundProgram | undefined;
  /** Those that calls and turns wait for, and the others, which must not hold these up. */
  readonly #waited = new Semaphore(RUNNING_MAX);
  readonly #others = new Semaphore(RUNNING_MAX);
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #queued = 0;

  constructor(host: Host, project: ProjectHooksOf) {
    const { env, path, writable } = host;
    this.#host = host;
    this.#project = project;
    this.#env = Object.fromEntries(PASSED.flatMap((name) => {
      const value = env(name);
      return value === undefined ? [] : [[name, value]];
    }));
    this.#find = personsPrograms(env, path, writable);
  }

  /**
   * Runs the hooks before a call, in their order, until one denies it. Each sees the arguments as
   * those before it have changed them.
   */
  async beforeCall(
    session: Session,
    call: HookedCall,
    signal: AbortSignal,
  ): Promise<HookVerdict | undefined> {
    const verdict: HookVerdict = {};
    const contexts: string[] = [];
    let { args } = call;
    for (const hook of await this.#on("tool.before", session)) {
      if (!matches(hook, session, { ...call, args })) continue;
      const told = { event: "tool.before", ...aboutCall({ ...call, args }) } as const;
      const ran = await this.#run(hook, session, told, signal);
      const { decision, reason, context, args: changed } = ran.answer;
      if (context) contexts.push(noteOf(hook, context));
      const name = nameOf(hook, session);
      if (ran.problem !== undefined) {
        if (hook.on_failure === "ignore") continue;
        verdict.action = "deny";
        // A hirer must not learn what is on this machine.
        const why = session.state.trust === "trusted" ? `: ${ran.problem}` : "";
        verdict.reason = `${name} failed${why}`;
      } else if (decision === "deny" || decision === "ask") {
        verdict.action = decision;
        const said = decision === "deny" ? "does not allow it" : "asks";
        verdict.reason = `${name} ${said}${reason ? `: ${reason}` : ""}`;
      } else if (decision === "allow" && "may_allow" in hook && hook.may_allow) {
        verdict.action ??= "allow";
      }
      if (verdict.action === "deny") break;
      const other = othersOf(changed, args);
      if (other === undefined) continue;
      const again = await call.change?.(other) ?? { problem: "it cannot be changed" };
      if ("problem" in again) {
        verdict.action = "deny";
        verdict.reason = `a hook changed the call, and then: ${again.problem}`;
        break;
      }
      // Later hooks judge what will run: tools derive arguments from others, such as paths.
      args = again.args;
      const text = `${name} changed the arguments of this call: ${JSON.stringify(other)}`;
      contexts.push(noteOf(hook, cut(text)));
    }
    if (contexts.length > 0) verdict.context = contexts.join("\n");
    return verdict;
  }

  /** Runs the hooks after a call. */
  async afterCall(
    session: Session,
    call: HookedCall,
    { ok, output, exit_code }: ToolOutcome,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const contexts: string[] = [];
    for (const hook of await this.#on("tool.after", session)) {
      if (!matches(hook, session, call)) continue;
      if ("failed" in hook && hook.failed === ok) continue;
      const result = { ok, output: cut(output), ...(exit_code === undefined ? {} : { exit_code }) };
      const told = { event: "tool.after", ...aboutCall(call), ...result } as const;
      const { answer } = await this.#run(hook, session, told, signal);
      if (answer.context) contexts.push(noteOf(hook, answer.context));
    }
    return contexts.length === 0 ? undefined : contexts.join("\n");
  }

  /** Runs the hooks on the beginning of a turn. @throws the turn's reason */
  async turnStarted(session: Session, { turn_id, soft }: Turn): Promise<void> {
    const hooks = await this.#on("turn.started", session);
    if (hooks.length === 0) return;
    const prompt = cut((await session.transcript()).waiting.join("\n"));
    for (const hook of hooks) {
      await this.#run(hook, session, { event: "turn.started", turn_id, prompt }, soft);
    }
  }

  /** Begins the hooks on an event that nothing waits for. */
  async tell(
    session: Session,
    told: Told<"turn.completed" | "session.created" | "question.asked">,
  ): Promise<void> {
    for (const hook of await this.#on(told.event, session)) {
      if (this.#queued >= QUEUED_MAX) {
        this.#host.log.warn("too many hooks at once", { program: programOf(hook) });
        return;
      }
      this.#queued++;
      void this.#run(hook, session, told, this.#stop.signal)
        .catch(() => {})
        .finally(() => this.#queued--);
    }
  }

  /** Those of the operator come last: they see what a project's have made of a call. */
  async #on(event: HookEvent, { state }: Session): Promise<AnyHook[]> {
    const own = this.#host.config().of(HOOKS).filter(({ on }) => on === event);
    // They may write files, and work for others follows no project.
    if (state.trust !== "trusted" || state.approval === "read_only") return own;
    const all = this.#project.files.read(state.workdir);
    const found = all?.hooks.filter(({ on }) => on === event) ?? [];
    if (all === undefined || found.length === 0) return own;
    return await this.#project.isTrusted(state.workdir, all.text) ? [...found, ...own] : own;
  }

  /** Runs a hook, and records what it decided, told or failed with. @throws the signal's reason */
  async #run(
    hook: AnyHook,
    session: Session,
    told: Told<HookEvent>,
    signal: AbortSignal,
  ): Promise<Ran> {
    const slots = told.event.startsWith("tool.") || told.event === "turn.started"
      ? this.#waited
      : this.#others;
    const ends = AbortSignal.any([signal, this.#stop.signal]);
    const free = await slots.take(ends);
    const work = this.#ask(hook, session, told, ends).finally(free);
    this.#running.add(work);
    try {
      const ran = await work;
      await this.#record(session, told, ran);
      return ran;
    } finally {
      this.#running.delete(work);
    }
  }

  async #ask(
    hook: AnyHook,
    session: Session,
    told: Told<HookEvent>,
    signal: AbortSignal,
  ): Promise<Ran> {
    const { id: session_id, state } = session;
    const { title, workdir, model, approval, trust } = state;
    const at = new Date().toISOString();
    const input = { ...told, session_id, title, workdir, model, approval, trust, at };
    try {
      const answer = hook.format === "claude"
        ? await this.#askClaude(hook, session, input, signal)
        : readOwn(await this.#start(hook, session, input, signal));
      return { hook, answer: answerTo(told.event, answer) };
    } catch (error) {
      signal.throwIfAborted();
      const problem = messageOf(error);
      this.#host.log.warn("a hook failed", {
        on: hook.on,
        program: programOf(hook),
        session_id,
        error: problem,
      });
      return { hook, answer: {}, problem };
    }
  }

  /** Asks about each part of a call, such as the files of a patch, until one is denied. */
  async #askClaude(
    hook: AnyHook,
    session: Session,
    input: HookInput,
    signal: AbortSignal,
  ): Promise<HookAnswer> {
    const all: HookAnswer = {};
    const { workdir } = session.state;
    const inputs = claudeInputs(input);
    const contexts: string[] = [];
    for (const each of inputs) {
      const call = inputs.length === 1 && "tool_name" in each
        ? each as unknown as ClaudeCall
        : undefined;
      const end = await this.#start(hook, session, each, signal);
      const { context, ...answer } = readClaude(hook.on, end, call, workdir);
      if (context) contexts.push(context);
      const stricter = all.decision === "ask" && answer.decision === "allow";
      Object.assign(all, stricter ? {} : answer);
      if (answer.decision === "deny") break;
    }
    return { ...all, ...(contexts.length > 0 && { context: contexts.join("\n") }) };
  }

  async #start(
    hook: AnyHook,
    session: Session,
    input: object,
    signal: AbortSignal,
  ): Promise<ProgramEnd> {
    const line = JSON.stringify(input);
    if ("line" in hook) return await runProjectHook(this.#host, hook, session, line, signal);
    const [name, ...args] = hook.command;
    const program = this.#find(name);
    if (program === undefined) throw unfound(name);
    const { workdir } = session.state;
    return await endWithInput({
      what: "a hook",
      program,
      args,
      input: `${line}\n`,
      env: { ...this.#env, ...(hook.format === "claude" && { CLAUDE_PROJECT_DIR: workdir }) },
      timeout_ms: hook.timeout_s * 1_000,
      signal,
    });
  }

  async #record(session: Session, told: Told<HookEvent>, { hook, answer, problem }: Ran) {
    const { decision, reason, context, args } = answer;
    if (decision === undefined && !context && problem === undefined && args === undefined) return;
    const call_id = "call_id" in told ? told.call_id : undefined;
    const program = programOf(hook);
    try {
      await session.emit("hook.ran", {
        on: hook.on,
        program,
        ...("file" in hook && { file: hook.file }),
        ...(call_id !== undefined && { call_id }),
        ...(decision !== undefined && { decision }),
        ...(reason && { reason }),
        ...(args !== undefined && { args }),
        ...(context && { context }),
        ...(problem !== undefined && { problem }),
      });
    } catch (error) {
      // A session that has ended records nothing more.
      this.#host.log.warn("cannot record a hook", { program, error: messageOf(error) });
    }
  }

  /** Ends the hooks that run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the daemon is stopping"));
    await Promise.allSettled([...this.#running]);
  }
}

/** Reports whether a hook is for a call, as it is now. */
function matches(hook: AnyHook, { state }: Session, { tool, args }: HookedCall): boolean {
  const { workdir } = state;
  const { spec: { name }, foreign = false } = tool;
  if ("tools" in hook && hook.tools !== undefined) {
    const { tools } = hook;
    return claudeCalls(name, args, workdir)
      .some(({ tool_name }) => tools.some((pattern) => pattern.test(tool_name)));
  }
  if (hook.match === undefined) return true;
  const call = callOf(name, args, { workdir, rule: tool.rule(args), foreign });
  return decide(call, [{ ...parseRule("deny", hook.match), source: "config" }]).action !==
    undefined;
}

/** Characters of a project's line as a program's name. */
const LINE_MAX = 100;

function programOf(hook: AnyHook): string {
  if (!("line" in hook)) return hook.command[0];
  return hook.line.length > LINE_MAX ? `${hook.line.slice(0, LINE_MAX)}…` : hook.line;
}

/** Names a hook for the model and the person. */
function nameOf(hook: AnyHook, { state }: Session): string {
  if (state.trust !== "trusted") return "a hook of the operator";
  return `the hook ${exactLine(programOf(hook))} of ${"file" in hook ? hook.file : "daemon.toml"}`;
}

/** Says whose text for the model it is. */
function noteOf(hook: AnyHook, text: string): string {
  return `[from a hook of ${"file" in hook ? "the project" : "the operator"}]\n${text}`;
}

/** Returns the changed arguments that differ; undefined without any. */
function othersOf(
  changed: HookAnswer["args"],
  args: unknown,
): Record<string, unknown> | undefined {
  const given = (args ?? {}) as Record<string, unknown>;
  const other = Object.entries(changed ?? {})
    .filter(([name, value]) => JSON.stringify(given[name]) !== JSON.stringify(value));
  return other.length === 0 ? undefined : Object.fromEntries(other);
}

/** Reads how a program answered with svc's own messages. @throws {Error} when it failed */
function readOwn({ code, output }: ProgramEnd): HookAnswer {
  if (code !== 0) throw new Error(`it exited with ${code}`);
  return readAnswer(output);
}

/** What an event allows in an answer. @throws {Error} naming what it does not allow */
function answerTo(event: HookEvent, answer: HookAnswer): HookAnswer {
  if (event === "tool.before") return answer;
  const other = answer.decision !== undefined
    ? "a decision"
    : answer.args !== undefined
    ? "arguments"
    : undefined;
  if (other === undefined) return answer;
  throw new Error(`its output has ${other}, which only tool.before accepts`);
}

function aboutCall({ call_id, tool, args, subagent }: HookedCall) {
  const { spec: { name }, access } = tool;
  return { call_id, tool: name, access, args, ...(subagent !== undefined && { subagent }) };
}

/** Cuts a text that could be long. */
export function cut(text: string): string {
  return text.slice(0, TEXT_MAX).toWellFormed();
}
