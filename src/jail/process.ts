/** Runs one program, and ends it with all that it started. */
import { requireDescriptors } from "../os/descriptors.ts";
import { messageOf } from "../protocol/errors.ts";
import { Pipe } from "../base/pipe.ts";
import {
  askTree,
  type Descendants,
  descendantsOf,
  groupTree,
  guardedShell,
  killTree,
} from "../os/process_tree.ts";
import type { Sandbox, SandboxArgv } from "./sandbox.ts";
import { spawnArgv } from "./spawn.ts";

/** What {@linkcode runProcess} runs. */
export interface ProcessOptions {
  argv: SandboxArgv;
  cwd: string;
  /** What `argv` was made by: how the program is ended depends on it. */
  sandbox: Sandbox["kind"];
  timeout_ms: number;
  /** Ends it. */
  signal: AbortSignal;
  /** Takes standard output as it comes; the chunk is valid during the call only. */
  onStdout(chunk: Uint8Array): void;
  /** Takes standard error; without it that is thrown away. */
  onStderr?(chunk: Uint8Array): void;
  /** Whether what it started may go on when it ends by itself: a deployment's server. */
  may_leave?: boolean;
  /** Whether it goes on when this process dies: what cut off would leave something half done. */
  lasting?: boolean;
  /** Whether its standard error goes to its standard output. */
  merged?: boolean;
}

/** How a program ended. */
export interface ProcessEnd {
  /** `null` when a signal ended it or it timed out. */
  exit_code: number | null;
  /** The signal that ended it. Under bubblewrap it shows as an exit code of 128 + signal. */
  signal: string | null;
  timed_out: boolean;
  duration_ms: number;
}

/** What a program gets to clean up between SIGTERM and SIGKILL. */
export const TERM_GRACE_MS = 5_000;
/** How long output is waited for after the program is gone: a leftover child may hold the pipe. */
const OUTPUT_GRACE_MS = 200;
/** How long finding a program's processes may take, on a machine that is busy. */
const LOOKUP_MS = 5_000;
/** How long the kernel may take to end what was killed. */
const KILL_GRACE_MS = 100;

/**
 * Runs a program to its end, its timeout or its abort, whichever comes first. Nothing that it
 * started in its process group outlives the call or this process, unless it may; under bubblewrap
 * nothing at all does, and aborted or out of time nothing whose parents still lived.
 *
 * @throws {SvcError} unavailable when there are too few file descriptors
 * @throws {Error} when it cannot be started, for instance because `cwd` is gone
 * @throws the signal's reason when it was aborted, once the processes are dead
 */
export async function runProcess(options: ProcessOptions): Promise<ProcessEnd> {
  options.signal.throwIfAborted();
  const started = performance.now();
  const child = spawn(options);
  const endGroup = options.may_leave ? () => {} : groupTree(child.pid);
  const pipes = [new Pipe(child.stdout, options.onStdout)];
  if (options.onStderr !== undefined) pipes.push(new Pipe(child.stderr, options.onStderr));
  const drained = Promise.all(pipes.map((pipe) => pipe.ended));
  try {
    const end = await firstOf(child.status, options);
    const jailed = options.sandbox === "bubblewrap";
    let outside: Descendants = [];
    if (end === "exit") {
      await within(drained, OUTPUT_GRACE_MS);
    } else {
      // What has left the group is found as long as its parents live; a jail has no way out.
      if (!jailed) outside = await within(descendantsOf(child.pid).catch(none), LOOKUP_MS) ?? [];
      const levels = isGuarded(options) ? 2 : 1;
      // The time to clean up begins when the command has been told.
      if (jailed) await within(signalInside(child.pid, "TERM", levels).catch(() => {}), LOOKUP_MS);
      else await within(askTree(child.pid, outside).catch(() => {}), LOOKUP_MS);
      const stopped = await within(Promise.all([child.status, drained]), TERM_GRACE_MS);
      if (stopped === undefined && jailed) {
        await within(signalInside(child.pid, "KILL", levels).catch(() => {}), LOOKUP_MS);
      }
    }
    if (end !== "exit" || !options.may_leave) await killTree(child.pid, outside).catch(() => {});
    const [status] = await Promise.all([
      within(child.status, KILL_GRACE_MS),
      within(drained, KILL_GRACE_MS),
    ]);
    if (end === "abort") throw options.signal.reason;
    return {
      exit_code: status === undefined || status.signal || end === "timeout" ? null : status.code,
      signal: status?.signal ?? null,
      timed_out: end === "timeout",
      duration_ms: Math.round(performance.now() - started),
    };
  } finally {
    endGroup();
    await Promise.all(pipes.map((pipe) => pipe.close()));
    if (isGuarded(options)) await child.stdin.abort().catch(() => {});
  }
}

/** A machine that can start no process to look for others. */
const none = (): Descendants => [];

/** With a shell both streams can share a pipe, which keeps their order, and a guard be started. */
const POSIX = Deno.build.os !== "windows";

/**
 * Runs a program as {@linkcode runProcess} does, with its standard error among its standard output.
 *
 * @param options.onOutput takes both as they come; the chunk is valid during the call only.
 */
export function runMerged(
  { onOutput, ...options }: Omit<ProcessOptions, "onStdout" | "onStderr" | "merged"> & {
    onOutput(chunk: Uint8Array): void;
  },
): Promise<ProcessEnd> {
  return runProcess({
    ...options,
    merged: POSIX,
    onStdout: onOutput,
    onStderr: POSIX ? undefined : onOutput,
  });
}

function isGuarded({ may_leave, lasting }: ProcessOptions): boolean {
  return POSIX && !may_leave && !lasting;
}

/** The program, started by a shell where something has to be done first. */
function wrapped(options: ProcessOptions): SandboxArgv {
  const { argv, merged = false, sandbox } = options;
  if (!isGuarded(options) && !merged) return argv;
  const shell = isGuarded(options)
    ? guardedShell({ merged, below: sandbox === "bubblewrap" })
    : ["-c", 'exec "$@" 2>&1', "sh"];
  return { ...argv, cmd: "/bin/sh", args: [...shell, argv.cmd, ...argv.args] };
}

function spawn(options: ProcessOptions): Deno.ChildProcess {
  const { cwd, onStderr } = options;
  const argv = wrapped(options);
  requireDescriptors("a command");
  try {
    return spawnArgv(argv, {
      cwd,
      stdin: isGuarded(options) ? "piped" : "null",
      stdout: "piped",
      stderr: onStderr === undefined ? "null" : "piped",
      detached: true,
    });
  } catch (cause) {
    throw new Error(`cannot run a command in ${cwd}: ${explain(cwd, cause)}`, { cause });
  }
}

function explain(cwd: string, cause: unknown): string {
  try {
    if (!Deno.statSync(cwd).isDirectory) return "it is no longer a directory";
  } catch {
    return "it is gone or may not be entered";
  }
  return messageOf(cause);
}

/** Which comes first; leaves no timer and no listener behind. */
async function firstOf(
  exit: Promise<unknown>,
  { signal, timeout_ms }: ProcessOptions,
): Promise<"exit" | "timeout" | "abort"> {
  const end = Promise.withResolvers<"timeout" | "abort">();
  const onAbort = () => end.resolve("abort");
  // A delay that does not fit 31 bits would fire at once.
  const timer = setTimeout(() => end.resolve("timeout"), Math.min(timeout_ms, 2 ** 31 - 1));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([exit.then(() => "exit" as const), end.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Signals what runs under a bwrap, past bwrap itself. SIGTERM would end that at once, and the kernel
 * the command with it before it could clean up: it goes to the group of bwrap's one child, which as
 * the first process of its namespace ignores it. SIGKILL goes to that child, with which the whole
 * namespace ends. It must come before bwrap's own end: until the command begins, the child does not
 * notice that its parent is gone and would live on without it. A bwrap that has no child yet needs
 * nothing, for a child begins in its group and dies with that. The child is one level below `pid`, or
 * two where a guarded shell stands above bwrap. A shell looks it up, for Deno reads nothing under
 * /proc without all permissions.
 */
async function signalInside(pid: number, signal: "TERM" | "KILL", levels: number): Promise<void> {
  const script = `for level in ${"below ".repeat(levels)}; do
    children=
    read -r children <"/proc/$1/task/$1/children"
    [ "$children" ] || exit
    set -- "\${children##* }" "$2" "$3"
  done
  kill -s "$2" -- "$3$1"`;
  requireDescriptors("a shell");
  await new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", String(pid), signal, signal === "TERM" ? "-" : ""],
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
}

/** The promise's value if it comes in time. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(late.resolve, ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
