/** Runs one program, and ends it together with everything that it started. */
import { messageOf } from "../protocol/errors.ts";
import { lazy } from "../base/lazy.ts";
import { Pipe } from "../base/pipe.ts";
import { exists } from "../os/files.ts";
import {
  askTree,
  type Descendants,
  descendantsOf,
  endBelow,
  groupTree,
  guardedShell,
  killTree,
  startShell,
} from "../os/process_tree.ts";
import type { Passed } from "../os/passing.ts";
import type { Sandbox, SandboxArgv } from "./sandbox.ts";
import { spawnArgv } from "./spawn.ts";

export interface ProcessOptions {
  argv: SandboxArgv;
  cwd: string;
  /** The sandbox that built `argv`; it determines how to end the program. */
  sandbox: Sandbox["kind"];
  timeout_ms: number;
  /** How long it waited for a person, in ms. This does not count towards the timeout. */
  waited_ms?(): number;
  signal: AbortSignal;
  /** Time between SIGTERM and SIGKILL. Default: {@linkcode TERM_GRACE_MS}. */
  term_grace_ms?: number;
  /** The chunk is valid only during the call. */
  onStdout(chunk: Uint8Array): void;
  /** Without it, standard error is discarded. */
  onStderr?(chunk: Uint8Array): void;
  /** Whether its children may outlive it, such as a deployed server. */
  may_leave?: boolean;
  /** Seconds it may go on when this process dies, if an interruption would leave work half done. */
  lasts_s?: number;
  /** Whether standard error goes to standard output. */
  merged?: boolean;
  /** Standard input, if it ends with this process. */
  input?: Passed;
  onStarted?(pid: number): void;
}

export interface ProcessEnd {
  /** `null` if a signal ended it or it timed out. */
  exit_code: number | null;
  /** Under bubblewrap a signal shows as an exit code of 128 + signal. */
  signal: string | null;
  timed_out: boolean;
  duration_ms: number;
  /** The limit for which svc or the kernel ended it: a line for its output. */
  over?: string;
}

/** Time between SIGTERM and SIGKILL. */
export const TERM_GRACE_MS = 5_000;
/** How long to wait for output after the end; a leftover child may hold the pipe. */
const OUTPUT_GRACE_MS = 200;
/** How long to look for a program's processes, on a busy machine. */
const LOOKUP_MS = 5_000;
/** How long the kernel may take to end killed processes. */
const KILL_GRACE_MS = 100;

/**
 * Runs a program until it exits, times out or is aborted. Nothing in its process group outlives the
 * call or this process, unless `may_leave` is set; under bubblewrap nothing at all does. After an
 * abort or a timeout, processes that left the group while their parents lived also end.
 *
 * @throws {SvcError} unavailable when there are too few file descriptors
 * @throws {Error} when it cannot start, for instance because `cwd` is missing
 * @throws the signal's reason after an abort, once the processes are dead
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessEnd> {
  if (options.signal.aborted) options.argv.failed?.();
  options.signal.throwIfAborted();
  const started = performance.now();
  using limited = options.argv.limited?.();
  const child = spawn(options, limited?.join);
  limited?.started(child.pid);
  options.onStarted?.(child.pid);
  const endGroup = options.may_leave ? () => {} : groupTree(child.pid);
  const pipes = [new Pipe(child.stdout, options.onStdout)];
  if (options.onStderr !== undefined) pipes.push(new Pipe(child.stderr, options.onStderr));
  const drained = Promise.all(pipes.map((pipe) => pipe.ended));
  try {
    let over: string | undefined;
    const exceeded = limited?.over.then((message) => {
      over = message;
      return "limit" as const;
    });
    const end = await firstOf(child.status, exceeded, options);
    const jailed = options.sandbox === "bubblewrap";
    let outside: Descendants = [];
    if (end === "exit") {
      await within(drained, OUTPUT_GRACE_MS);
    } else if (end === "limit" && jailed) {
      // It uses what others need, so it gets no time to clean up.
      await within(signalInside(child.pid, "KILL", levelsOf(options)).catch(() => {}), LOOKUP_MS);
    } else {
      // Processes that left the group can only be found while their parents live. Nothing leaves a
      // jail.
      if (!jailed) outside = await within(descendantsOf(child.pid).catch(none), LOOKUP_MS) ?? [];
      const levels = levelsOf(options);
      // The grace period starts once the command has received SIGTERM.
      if (jailed) await within(signalInside(child.pid, "TERM", levels).catch(() => {}), LOOKUP_MS);
      else if (end !== "limit") {
        await within(askTree(child.pid, outside).catch(() => {}), LOOKUP_MS);
      }
      const grace_ms = end === "limit" ? 0 : options.term_grace_ms ?? TERM_GRACE_MS;
      const stopped = await within(Promise.all([child.status, drained]), grace_ms);
      if (stopped === undefined && jailed) {
        await within(signalInside(child.pid, "KILL", levels).catch(() => {}), LOOKUP_MS);
      }
    }
    if (end !== "exit" && options.argv.reaper !== undefined) {
      await within(endBelow(child.pid).catch(() => {}), LOOKUP_MS);
    }
    if (end !== "exit" || !options.may_leave) await killTree(child.pid, outside).catch(() => {});
    if (end !== "exit") killOne(child);
    const [status] = await Promise.all([
      within(child.status, KILL_GRACE_MS),
      within(drained, KILL_GRACE_MS),
    ]);
    if (end === "abort") throw options.signal.reason;
    over ??= limited?.ended();
    return {
      exit_code: status === undefined || status.signal || end !== "exit" ? null : status.code,
      signal: status?.signal ?? (end === "limit" ? "SIGKILL" : null),
      timed_out: end === "timeout",
      duration_ms: Math.round(performance.now() - started),
      ...(over !== undefined && { over }),
    };
  } finally {
    endGroup();
    await Promise.all([options.argv.ended?.(), ...pipes.map((pipe) => pipe.close())]);
    if (isGuarded(options)) await child.stdin.abort(DONE).catch(() => {});
  }
}

/** Kills a child that setsid may not yet have made the leader of its group. */
function killOne(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended.
  }
}

/** For a machine that cannot start the process that looks for others. */
const none = (): Descendants => [];

/** A shell can merge both streams into one pipe in order, and start a guard. */
const POSIX = Deno.build.os !== "windows";
const SHELL = "/bin/sh";
/** Of util-linux and busybox; macOS has none. */
const SETSID = ["/usr/bin/setsid", "/bin/setsid"];

/**
 * Runs a program like {@linkcode runProcess}, with standard error merged into standard output.
 *
 * @param options.onOutput receives both, and the reason if a limit ended it; the chunk is valid
 * only during the call
 */
export async function runMerged(
  { onOutput, ...options }: Omit<ProcessOptions, "onStdout" | "onStderr" | "merged"> & {
    onOutput(chunk: Uint8Array): void;
  },
): Promise<ProcessEnd> {
  const end = await runProcess({
    ...options,
    merged: POSIX,
    onStdout: onOutput,
    onStderr: POSIX ? undefined : onOutput,
  });
  if (end.over !== undefined) onOutput(new TextEncoder().encode(`\n${end.over}\n`));
  return end;
}

/** Without a reason the stream would create an error with a stack trace. */
const DONE = "the program has ended";

function isGuarded({ may_leave }: ProcessOptions): boolean {
  return POSIX && !may_leave;
}

/** How far below the program the first process of its namespace is. */
function levelsOf(options: ProcessOptions): number {
  return isGuarded(options) ? 2 : 1;
}

/** Wraps the program in a shell that merges its streams or guards it. */
function wrapped(options: ProcessOptions, group: string | undefined): SandboxArgv {
  const { argv, merged = false, sandbox, lasts_s, input } = options;
  const { reaper } = argv;
  if (!isGuarded(options) && !merged) return argv;
  const shell = isGuarded(options)
    ? guardedShell({
      merged,
      below: sandbox === "bubblewrap",
      reaps: reaper !== undefined,
      lasts_s,
      input: input !== undefined,
      group,
    })
    : ["-c", 'exec "$@" 2>&1', "sh"];
  const first = input === undefined ? [] : [input];
  const args = [...shell, ...first, argv.cmd, ...argv.args];
  if (reaper === undefined) return { ...argv, cmd: SHELL, args };
  return {
    ...argv,
    cmd: SHELL,
    args: ["-c", 'exec "/proc/self/fd/$0" "$@"', reaper, SHELL, ...args],
  };
}

/**
 * Has setsid make a shell the leader of its group. With `detached`, Deno 2.7.11 forks this whole
 * process, which blocks its only thread for 3 ms at 60 MB; posix_spawn takes a tenth. Only for a
 * shell, because a program that setsid cannot start raises no error here.
 */
function ledBySetsid(argv: SandboxArgv): SandboxArgv & { leads: boolean } {
  const setsid = argv.cmd === SHELL ? setsidPath() : undefined;
  if (setsid === undefined) return { ...argv, leads: false };
  return { ...argv, cmd: setsid, args: [argv.cmd, ...argv.args], leads: true };
}

const setsidPath = lazy(() => SETSID.find(exists));

function spawn(options: ProcessOptions, group: string | undefined): Deno.ChildProcess {
  const { cwd, onStderr } = options;
  const { leads, ...argv } = ledBySetsid(wrapped(options, group));
  try {
    return spawnArgv(argv, {
      cwd,
      stdin: isGuarded(options) ? "piped" : "null",
      stdout: "piped",
      stderr: onStderr === undefined ? "null" : "piped",
      detached: !leads,
    });
  } catch (cause) {
    throw new Error(`cannot run a command in ${cwd}: ${explain(cwd, cause)}`, { cause });
  }
}

function explain(cwd: string, cause: unknown): string {
  try {
    if (!Deno.statSync(cwd).isDirectory) return "it is no longer a directory";
  } catch {
    return "it does not exist or cannot be entered";
  }
  return messageOf(cause);
}

/** Waits for the first event. Leaves no timer or listener behind. */
async function firstOf(
  exit: Promise<unknown>,
  exceeded: Promise<"limit"> | undefined,
  { signal, timeout_ms, waited_ms = () => 0 }: ProcessOptions,
): Promise<"exit" | "timeout" | "abort" | "limit"> {
  const end = Promise.withResolvers<"timeout" | "abort">();
  const onAbort = () => end.resolve("abort");
  let given_ms = 0;
  const onTime = () => {
    const more_ms = waited_ms() - given_ms;
    if (more_ms < 1) return end.resolve("timeout");
    given_ms += more_ms;
    timer = setTimeout(onTime, more_ms);
  };
  // A delay over 31 bits would fire immediately.
  let timer = setTimeout(onTime, Math.min(timeout_ms, 2 ** 31 - 1));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const ends = [exit.then(() => "exit" as const), end.promise];
    return await Promise.race(exceeded === undefined ? ends : [...ends, exceeded]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Signals the processes under a bwrap, but not bwrap itself. SIGTERM would end bwrap immediately,
 * and the kernel would kill the command before it could clean up. So SIGTERM goes to the process
 * group of bwrap's only child, which ignores it as the first process of its namespace. SIGKILL goes
 * to that child and ends the whole namespace. It must come before bwrap's own end: until the
 * command starts, the child does not notice that its parent has died. A bwrap without a child needs
 * nothing.
 *
 * The child is one level below `pid`, or two with a guarded shell. A shell finds it, because Deno
 * cannot read /proc without all permissions.
 */
async function signalInside(pid: number, signal: "TERM" | "KILL", levels: number): Promise<void> {
  const script = `for level in ${"below ".repeat(levels)}; do
    children=
    read -r children <"/proc/$1/task/$1/children"
    [ "$children" ] || exit
    set -- "\${children##* }" "$2" "$3"
  done
  kill -s "$2" -- "$3$1"`;
  const args = [String(pid), signal, signal === "TERM" ? "-" : ""];
  await startShell(script, args).status;
}

/** Returns the promise's value if it arrives in time. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(late.resolve, ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
