/** Runs a program with text on its standard input, and returns what it writes. */
import { Pipe } from "../base/pipe.ts";
import { within } from "../base/within.ts";
import type { FoundProgram } from "./own_programs.ts";
import { descendantsOf, guardTree, killTree, signalGroup } from "./process_tree.ts";
import { startProgram } from "./start.ts";

export interface InputOptions {
  /** What is started, for messages. */
  what: string;
  program: FoundProgram;
  args: readonly string[];
  input: string;
  /** Its whole environment except PATH. */
  env: Record<string, string>;
  timeout_ms: number;
  /** Ends it. */
  signal: AbortSignal;
}

/** The most bytes that it may write. */
export const OUTPUT_MAX = 64 * 1024;
/** How long to wait for output after the program has ended; a child of it may hold the pipe. */
const OUTPUT_GRACE_MS = 200;

/** How a program ended, and what it wrote. */
export interface InputEnd {
  code: number;
  output: string;
  /** On standard error, without the end if it is long. */
  errors: string;
}

/**
 * Runs a program to its end, as {@linkcode endWithInput} does.
 *
 * @returns what it wrote
 * @throws {Error} when it exits with another code than 0
 */
export async function runWithInput(options: InputOptions): Promise<string> {
  const { code, output } = await endWithInput(options);
  if (code !== 0) throw new Error(`it exited with ${code}`);
  return output;
}

/**
 * Runs a program to its end, with nothing left of what it started.
 *
 * @throws {Error} when it cannot be started, takes too long or writes too much
 * @throws the signal's reason
 */
export async function endWithInput(options: InputOptions): Promise<InputEnd> {
  const { what, program, args, input, env, timeout_ms, signal } = options;
  signal.throwIfAborted();
  const child = startProgram(what, program.cmd, {
    args: [...args],
    env: { ...env, PATH: program.path },
    clearEnv: true,
    cwd: "/",
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    // It is the leader of a group, so that what it starts can be ended with it.
    detached: true,
  });
  const stopped = Promise.withResolvers<"timeout" | "abort" | "output">();
  const timer = setTimeout(() => stopped.resolve("timeout"), timeout_ms);
  const onAbort = () => stopped.resolve("abort");
  signal.addEventListener("abort", onAbort, { once: true });
  let endGuard: (() => Promise<void>) | undefined;
  const written = new Bounded();
  const said = new Bounded();
  const pipes = [
    new Pipe(child.stdout, (chunk) => {
      if (!written.push(chunk)) stopped.resolve("output");
    }),
    new Pipe(child.stderr, (chunk) => void said.push(chunk)),
  ];
  try {
    endGuard = guardTree(child.pid);
    void write(child.stdin, input);
    const exit = child.status.then(({ code }) => code);
    const end = await Promise.race([exit, stopped.promise]);
    if (typeof end !== "number") {
      const outside = await descendantsOf(child.pid).catch(() => []);
      await killTree(child.pid, outside).catch(() => {});
      if (end === "abort") throw signal.reason;
      throw new Error(
        end === "timeout"
          ? `it did not end within ${timeout_ms / 1000} s`
          : `it wrote more than ${OUTPUT_MAX} bytes`,
      );
    }
    await within(Promise.all(pipes.map(({ ended }) => ended)), OUTPUT_GRACE_MS);
    if (written.full) throw new Error(`it wrote more than ${OUTPUT_MAX} bytes`);
    return { code: end, output: written.text(), errors: said.text() };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    signalGroup(child.pid, "SIGKILL");
    await child.status;
    await endGuard?.();
    await Promise.all(pipes.map((pipe) => pipe.close()));
    await child.stdin.abort().catch(() => {});
  }
}

/** Writes all of the input; a program that does not read it closes the pipe. */
async function write(stdin: WritableStream<Uint8Array>, input: string): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch {
    // It has ended.
  } finally {
    writer.releaseLock();
  }
}

/** Keeps the first {@linkcode OUTPUT_MAX} bytes. */
export class Bounded {
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  full = false;

  /** @param chunk is copied @returns whether there was room for it */
  push(chunk: Uint8Array): boolean {
    if (this.#size + chunk.length > OUTPUT_MAX) this.full = true;
    if (this.full) return false;
    this.#size += chunk.length;
    this.#chunks.push(chunk.slice());
    return true;
  }

  text(): string {
    const bytes = new Uint8Array(this.#size);
    let at = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return new TextDecoder().decode(bytes);
  }
}
