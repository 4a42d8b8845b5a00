/** Runs one command line of the model, and ends it with all that it started. */

import { setImmediate } from "node:timers/promises";
import { BoundedOutput, LiveOutput } from "./output.ts";
import type { Sandbox, SandboxScope } from "./sandbox.ts";

/** How a command ended and what it wrote. */
export interface CommandResult {
  /** `null` when a signal ended it or it ran out of time. */
  exit_code: number | null;
  /** The signal that ended the shell. Under bubblewrap it shows as an exit code of 128 + signal. */
  signal: string | null;
  /** stdout and stderr as they were written; the middle of a long one is left out. */
  output: string;
  /** Whether something of the output was left out. */
  truncated: boolean;
  /** Whether the command was ended because it ran out of time. */
  timed_out: boolean;
  /** From start to end. */
  duration_ms: number;
}

/** What {@linkcode runCommand} runs. */
export interface CommandOptions {
  /** The command line, for the shell. */
  command: string;
  /** What it may see. */
  scope: SandboxScope;
  /** Where it runs. */
  sandbox: Sandbox;
  /** How long it may run. */
  timeout_ms: number;
  /** Ends it. */
  signal: AbortSignal;
  /** Is passed the output as it comes, paced and shortened as {@linkcode LiveOutput} does. */
  onOutput?: (text: string) => void;
}

/** What a command gets to clean up between SIGTERM and SIGKILL. */
const TERM_GRACE_MS = 300;
/** How long output is waited for after the shell is gone: a leftover child may hold the pipe. */
const OUTPUT_GRACE_MS = 200;
/** How long the kernel may take to end what was killed. */
const KILL_GRACE_MS = 100;
const BUFFER_BYTES = 64 * 1024;
const YIELD_EVERY_BYTES = 4 * 1024 * 1024;

/**
 * Runs a command line to its end, its timeout or its abort, whichever comes first. Nothing that it
 * started in its process group outlives the call; under bubblewrap nothing at all does.
 *
 * @throws {Error} when it cannot be started, for instance because the workdir is gone
 * @throws the signal's reason when it was aborted, once the processes are dead
 */
export async function runCommand(options: CommandOptions): Promise<CommandResult> {
  options.signal.throwIfAborted();
  const started = performance.now();
  const kept = new BoundedOutput();
  const live = options.onOutput && new LiveOutput(options.onOutput);
  const child = spawn(options);
  const pipes = [child.stdout, ...(MERGED ? [] : [child.stderr])].map((stream) =>
    new Pipe(stream, (chunk) => {
      kept.push(chunk);
      live?.push(chunk);
    })
  );
  const drained = Promise.all(pipes.map((pipe) => pipe.ended));
  try {
    const end = await firstOf(child.status, options);
    if (end === "exit") {
      await within(drained, OUTPUT_GRACE_MS);
    } else {
      const asked = options.sandbox.kind === "bubblewrap"
        ? signalInside(child.pid, "TERM")
        : signalGroup(child.pid, "SIGTERM");
      const stopped = await within(Promise.all([asked, child.status, drained]), TERM_GRACE_MS);
      if (stopped === undefined && options.sandbox.kind === "bubblewrap") {
        await within(signalInside(child.pid, "KILL"), KILL_GRACE_MS);
      }
    }
    signalGroup(child.pid, "SIGKILL");
    const [status] = await Promise.all([
      within(child.status, KILL_GRACE_MS),
      within(drained, KILL_GRACE_MS),
    ]);
    if (end === "abort") throw options.signal.reason;
    return {
      exit_code: status === undefined || status.signal || end === "timeout" ? null : status.code,
      signal: status?.signal ?? null,
      output: kept.text(),
      truncated: kept.truncated,
      timed_out: end === "timeout",
      duration_ms: Math.round(performance.now() - started),
    };
  } finally {
    await Promise.all(pipes.map((pipe) => pipe.close()));
    live?.close();
  }
}

/** One pipe for both streams keeps their order; without a POSIX shell there is no way to it. */
const MERGED = Deno.build.os !== "windows";

function spawn({ command, scope, sandbox }: CommandOptions): Deno.ChildProcess {
  const { cmd, args, env } = sandbox.argv(command, scope);
  try {
    return new Deno.Command(MERGED ? "/bin/sh" : cmd, {
      args: MERGED ? ["-c", 'exec "$@" 2>&1', "sh", cmd, ...args] : args,
      env,
      clearEnv: true,
      cwd: scope.workdir,
      stdin: "null",
      stdout: "piped",
      stderr: MERGED ? "null" : "piped",
      detached: true,
      windowsRawArguments: !MERGED,
    }).spawn();
  } catch (cause) {
    throw new Error(`cannot run a command in ${scope.workdir}: ${explain(scope, cause)}`, {
      cause,
    });
  }
}

function explain({ workdir }: SandboxScope, cause: unknown): string {
  try {
    if (!Deno.statSync(workdir).isDirectory) return "it is no longer a directory";
  } catch {
    return "it is gone or may not be entered";
  }
  return cause instanceof Error ? cause.message : String(cause);
}

/** Which comes first; leaves no timer and no listener behind. */
async function firstOf(
  exit: Promise<unknown>,
  { signal, timeout_ms }: CommandOptions,
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

/** Signals everything in a command's process group. */
function signalGroup(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    Deno.kill(Deno.build.os === "windows" ? pid : -pid, signal);
  } catch (error) {
    // macOS answers "not permitted" for a group of which only zombies are left.
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied)) {
      throw error;
    }
  }
}

/**
 * Signals what runs under a bwrap, past bwrap itself. SIGTERM would end that at once, and the kernel
 * the command with it before it could clean up: it goes to the group of bwrap's one child, which as
 * the first process of its namespace ignores it. SIGKILL goes to that child, with which the whole
 * namespace ends; that it notices its parent's death by itself is not relied on. A shell looks the
 * child up, for Deno reads nothing under /proc without all permissions.
 */
async function signalInside(pid: number, signal: "TERM" | "KILL"): Promise<void> {
  const script = 'read -r child rest <"/proc/$1/task/$1/children"; kill -s "$2" -- "$3$child"';
  const { success } = await new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", String(pid), signal, signal === "TERM" ? "-" : ""],
    clearEnv: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) signalGroup(pid, `SIG${signal}`);
}

/** Reads a pipe through one buffer, and lets others have their turn when it floods. */
class Pipe {
  /** Resolves when nothing more can come; never rejects. */
  readonly ended: Promise<void>;
  readonly #reader: ReadableStreamBYOBReader;

  constructor(stream: ReadableStream<Uint8Array>, onChunk: (chunk: Uint8Array) => void) {
    this.#reader = stream.getReader({ mode: "byob" });
    this.ended = this.#read(onChunk);
  }

  async #read(onChunk: (chunk: Uint8Array) => void): Promise<void> {
    let buffer = new Uint8Array(BUFFER_BYTES);
    let since_yield = 0;
    while (true) {
      const { value, done } = await this.#reader.read(buffer);
      if (done || value === undefined) return;
      onChunk(value);
      since_yield += value.length;
      buffer = new Uint8Array(value.buffer);
      if (since_yield < YIELD_EVERY_BYTES) continue;
      since_yield = 0;
      await setImmediate();
    }
  }

  /** Stops reading, also when something still holds the other end. */
  async close(): Promise<void> {
    await this.#reader.cancel();
    await this.ended;
  }
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
