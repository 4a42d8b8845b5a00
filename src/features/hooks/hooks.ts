/** The operator's hooks: which ones run on an event, and what they answer. */
import type { CallHooks, HookedCall, HookVerdict } from "../../agent/call_hooks.ts";
import type { ToolOutcome } from "../../agent/tool.ts";
import { Semaphore } from "../../base/semaphore.ts";
import { exactLine } from "../../base/visible.ts";
import { type FoundProgram, personsPrograms, unfound } from "../../os/own_programs.ts";
import { runWithInput } from "../../os/program_with_input.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import type { Turn } from "../../session/turn.ts";
import type { Host } from "../../verbs/host.ts";
import { decide } from "../permissions/decide.ts";
import { callOf } from "../permissions/open.ts";
import { parseRule } from "../permissions/rule.ts";
import { type Hook, type HookEvent, HOOKS } from "./config.ts";
import { type HookAnswer, type HookInput, readAnswer } from "./messages.ts";

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

/** How a hook ended: with an answer, or a problem. */
interface Ran {
  hook: Hook;
  answer: HookAnswer;
  problem?: string;
}

export class Hooks implements Required<CallHooks<Session>>, AsyncDisposable {
  readonly #host: Pick<Host, "config" | "log">;
  readonly #env: Record<string, string>;
  readonly #find: (program: string) => FoundProgram | undefined;
  /** Those that calls and turns wait for, and the others, which must not hold these up. */
  readonly #waited = new Semaphore(RUNNING_MAX);
  readonly #others = new Semaphore(RUNNING_MAX);
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #queued = 0;

  constructor({ config, log, env, path, writable }: Host) {
    this.#host = { config, log };
    this.#env = Object.fromEntries(PASSED.flatMap((name) => {
      const value = env(name);
      return value === undefined ? [] : [[name, value]];
    }));
    this.#find = personsPrograms(env, path, writable);
  }

  /** Runs the hooks before a call, in their order, until one denies it. */
  async beforeCall(
    session: Session,
    call: HookedCall,
    signal: AbortSignal,
  ): Promise<HookVerdict | undefined> {
    const verdict: HookVerdict = {};
    const contexts: string[] = [];
    for (const hook of this.#onCall("tool.before", session, call)) {
      const told = { event: "tool.before", ...aboutCall(call) } as const;
      const ran = await this.#run(hook, session, told, signal);
      const { decision, reason, context } = ran.answer;
      if (context) contexts.push(context);
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
      } else if (decision === "allow" && hook.may_allow) verdict.action ??= "allow";
      if (verdict.action === "deny") break;
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
    for (const hook of this.#onCall("tool.after", session, call)) {
      const result = { ok, output: cut(output), ...(exit_code === undefined ? {} : { exit_code }) };
      const told = { event: "tool.after", ...aboutCall(call), ...result } as const;
      const { answer } = await this.#run(hook, session, told, signal);
      if (answer.context) contexts.push(answer.context);
    }
    return contexts.length === 0 ? undefined : contexts.join("\n");
  }

  /** Runs the hooks on the beginning of a turn. @throws the turn's reason */
  async turnStarted(session: Session, { turn_id, soft }: Turn): Promise<void> {
    for (const hook of this.#on("turn.started")) {
      await this.#run(hook, session, { event: "turn.started", turn_id }, soft);
    }
  }

  /** Begins the hooks on an event that nothing waits for. */
  tell(
    session: Session,
    told: Told<"turn.completed" | "session.created" | "question.asked">,
  ): void {
    for (const hook of this.#on(told.event)) {
      if (this.#queued >= QUEUED_MAX) {
        this.#host.log.warn("too many hooks at once", { program: hook.command[0] });
        return;
      }
      this.#queued++;
      void this.#run(hook, session, told, this.#stop.signal)
        .catch(() => {})
        .finally(() => this.#queued--);
    }
  }

  #on(event: HookEvent): Hook[] {
    return this.#host.config().of(HOOKS).filter(({ on }) => on === event);
  }

  #onCall(event: HookEvent, { state }: Session, { tool, args }: HookedCall): Hook[] {
    const hooks = this.#on(event);
    if (hooks.every(({ match }) => match === undefined)) return hooks;
    const { spec: { name }, foreign = false } = tool;
    const call = callOf(name, args, { workdir: state.workdir, rule: tool.rule(args), foreign });
    return hooks.filter(({ match }) => {
      if (match === undefined) return true;
      const rule = parseRule("deny", match);
      return decide(call, [{ ...rule, source: "config" }]).action !== undefined;
    });
  }

  /** Runs a hook, and records what it decided, told or failed with. @throws the signal's reason */
  async #run(
    hook: Hook,
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
    hook: Hook,
    { id: session_id, state }: Session,
    told: Told<HookEvent>,
    signal: AbortSignal,
  ): Promise<Ran> {
    const { title, workdir, model, approval, trust } = state;
    const at = new Date().toISOString();
    const input = { ...told, session_id, title, workdir, model, approval, trust, at };
    const [name, ...args] = hook.command;
    try {
      const program = this.#find(name);
      if (program === undefined) throw unfound(name);
      const output = await runWithInput({
        what: "a hook",
        program,
        args,
        input: `${JSON.stringify(input satisfies HookInput)}\n`,
        env: this.#env,
        timeout_ms: hook.timeout_s * 1_000,
        signal,
      });
      return { hook, answer: answerTo(told.event, readAnswer(output)) };
    } catch (error) {
      signal.throwIfAborted();
      const problem = messageOf(error);
      this.#host.log.warn("a hook failed", {
        on: hook.on,
        program: name,
        session_id,
        error: problem,
      });
      return { hook, answer: {}, problem };
    }
  }

  async #record(session: Session, told: Told<HookEvent>, { hook, answer, problem }: Ran) {
    const { decision, reason, context } = answer;
    if (decision === undefined && !context && problem === undefined) return;
    const call_id = "call_id" in told ? told.call_id : undefined;
    const [program] = hook.command;
    try {
      await session.emit("hook.ran", {
        on: hook.on,
        program,
        ...(call_id !== undefined && { call_id }),
        ...(decision !== undefined && { decision }),
        ...(reason && { reason }),
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

/** Names a hook for the model and the person. */
function nameOf({ command }: Hook, { state }: Session): string {
  if (state.trust !== "trusted") return "a hook of the operator";
  return `the hook ${exactLine(command[0])} of daemon.toml`;
}

/** What an event allows in an answer. @throws {Error} naming what it does not allow */
function answerTo(event: HookEvent, answer: HookAnswer): HookAnswer {
  if (answer.decision === undefined || event === "tool.before") return answer;
  throw new Error("its output has a decision, which only tool.before accepts");
}

function aboutCall({ call_id, tool, args, subagent }: HookedCall) {
  const { spec: { name }, access } = tool;
  return { call_id, tool: name, access, args, ...(subagent !== undefined && { subagent }) };
}

/** Cuts a text that could be long. */
export function cut(text: string): string {
  return text.slice(0, TEXT_MAX).toWellFormed();
}
