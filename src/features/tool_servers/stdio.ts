/** A tool server that is a program: messages are lines of its standard input and output. */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { type Argument, spawnPassing } from "../../os/passing.ts";
import { Pipe } from "../../base/pipe.ts";
import { descendantsOf, guardTree, killTree, signalGroup } from "../../os/process_tree.ts";
import { within } from "../../base/within.ts";
import { MessageLines } from "./lines.ts";
import { JsonLines, messagesIn } from "./messages.ts";
import { tooLongAnswer } from "./result.ts";

export interface StdioOptions {
  command: string;
  args: readonly Argument[];
  /** Its whole environment. */
  env: Record<string, string>;
  /** Absolute path. */
  cwd: string;
  started?(child: Deno.ChildProcess): void;
  /** The longest message that is read. */
  max_bytes: number;
  /** Receives each line of its standard error, shortened. */
  onStderr(line: string): void;
}

/** How long a server may take to end, first after its input is closed, then after SIGTERM. */
const END_GRACE_MS = 1_500;
/** How long to wait for output after the program has ended; a child may hold the pipe. */
const OUTPUT_GRACE_MS = 200;
/** The most unread messages: a malicious program could send requests and never read an answer. */
const UNSENT_MAX = 2_048;
const STDERR_LINE_MAX = 2 * 1024;

/** The transport for the protocol's client. It ends the whole process tree. */
export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** How the program ended, if it has. */
  ended: string | undefined;
  readonly #options: StdioOptions;
  #child: Deno.ChildProcess | undefined;
  #input: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #unsent = 0;
  #gone: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  /** Starts the program. @throws {SvcError} internal if it cannot be started. */
  async start(): Promise<void> {
    const child = spawn(this.#options);
    let endGuard: () => Promise<void>;
    try {
      endGuard = guardTree(child.pid);
    } catch (error) {
      signalGroup(child.pid, "SIGKILL");
      await child.output();
      throw error;
    }
    this.#child = child;
    this.#input = child.stdin.getWriter();
    // A failed write is reported where it is made.
    this.#input.closed.catch(() => {});
    this.#gone = this.#watch(child, endGuard);
  }

  /** @throws {Error} if the program has ended; one that does not read its input is ended */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#input === undefined) throw new Error("the program was not started");
    if (this.#unsent === UNSENT_MAX) {
      this.close();
      throw new Error("it does not read its input");
    }
    this.#unsent++;
    try {
      await this.#input.write(new TextEncoder().encode(`${JSON.stringify(message)}\n`));
    } finally {
      this.#unsent--;
    }
  }

  /** Ends the program and everything that it started. Resolves when it has ended; never rejects. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    const { pid } = this.#child ?? {};
    if (pid === undefined || this.ended !== undefined) return await this.#gone;
    const descendants = await descendantsOf(pid).catch(() => []);
    this.#input?.close().catch(() => {});
    if (!(await within(this.#gone, END_GRACE_MS))) {
      signalGroup(pid, "SIGTERM");
      await within(this.#gone, END_GRACE_MS);
    }
    await killTree(pid, descendants).catch(() => {});
    await this.#gone;
  }

  async #watch(child: Deno.ChildProcess, endGuard: () => Promise<void>): Promise<void> {
    const json = new JsonLines(this.#options.max_bytes);
    const lines = new MessageLines(this.#options.max_bytes, {
      message: (text) => messagesIn(json.push(text)).forEach((it) => this.onmessage?.(it)),
      tooLong: (id) => this.onmessage?.(tooLongAnswer(id)),
    });
    const errors = new MessageLines(STDERR_LINE_MAX, {
      message: (line) => this.#options.onStderr(line),
      tooLong: () => this.#options.onStderr("[a line that is too long to show]"),
    });
    const pipes = [
      new Pipe(child.stdout, (chunk) => lines.push(chunk)),
      new Pipe(child.stderr, (chunk) => errors.push(chunk)),
    ];
    const drained = Promise.all(pipes.map(({ ended }) => ended));
    const { code, signal } = await child.status;
    this.ended = signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`;
    // Before the system can reuse its group's id.
    signalGroup(child.pid, "SIGKILL");
    await endGuard();
    await within(drained, OUTPUT_GRACE_MS);
    for (const pipe of pipes) await pipe.close();
    await drained;
    await this.#input?.abort().catch(() => {});
    this.onclose?.();
  }
}

function spawn({ command, args, env, cwd, started }: StdioOptions): Deno.ChildProcess {
  try {
    const child = spawnPassing(command, command, args, {
      env,
      clearEnv: true,
      cwd,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    });
    started?.(child);
    return child;
  } catch (cause) {
    throw new SvcError("internal", `cannot start ${command}: ${messageOf(cause)}`, { cause });
  }
}
