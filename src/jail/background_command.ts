/** One command that runs beside the calls of its session. */
import { messageOf } from "../protocol/errors.ts";
import { InputPipe } from "../os/input_pipe.ts";
import { OutputRing } from "./output_ring.ts";
import { type ProcessEnd, runMerged } from "./process.ts";
import type { Sandbox, SandboxScope } from "./sandbox.ts";

/** The output that is kept of a command, in bytes. */
const OUTPUT_KEPT = 1024 * 1024;

/** What {@linkcode BackgroundCommand.start} runs. */
export interface BackgroundOptions {
  command: string;
  scope: SandboxScope;
  sandbox: Sandbox;
  /** The time limit; without it there is none. */
  timeout_ms?: number;
}

/** How a command ended; `problem` says why it could not be started. */
export interface BackgroundEnd extends Partial<ProcessEnd> {
  /** Whether it was stopped from here. */
  stopped: boolean;
  problem?: string;
}

export class BackgroundCommand {
  /** What it wrote last. */
  readonly output: OutputRing = new OutputRing(OUTPUT_KEPT);
  /** How it ended, once it has. */
  end: BackgroundEnd | undefined;
  /** Resolves when it has ended and nothing of it runs; never rejects. */
  readonly ended: Promise<BackgroundEnd>;
  readonly #input: InputPipe | undefined = InputPipe.open();
  readonly #stop = new AbortController();
  #changed = Promise.withResolvers<void>();

  /** Starts it. Whether that worked, its end says. */
  constructor(options: BackgroundOptions) {
    this.ended = this.#run(options);
  }

  async #run({ command, scope, sandbox, timeout_ms = Infinity }: BackgroundOptions) {
    let end: BackgroundEnd;
    try {
      const done = await runMerged({
        argv: sandbox.argv(command, scope),
        cwd: scope.workdir,
        sandbox: sandbox.kind,
        timeout_ms,
        signal: this.#stop.signal,
        input: this.#input?.end,
        onOutput: (chunk) => {
          this.output.push(chunk);
          this.#change();
        },
      });
      end = { ...done, stopped: false };
    } catch (error) {
      const { aborted: stopped } = this.#stop.signal;
      end = { stopped, problem: stopped ? undefined : messageOf(error) };
    }
    this.#input?.[Symbol.dispose]();
    this.end = end;
    this.#change();
    return end;
  }

  #change(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  /** Resolves when it writes something, or ends. */
  changed(): Promise<void> {
    return this.end === undefined ? this.#changed.promise : Promise.resolve();
  }

  /** Asks it to end, and kills it with all that it started if it does not. */
  async stop(): Promise<void> {
    this.#stop.abort(new DOMException("the command was stopped", "AbortError"));
    await this.ended;
  }

  /** Whether it can be written to. */
  get writable(): boolean {
    return this.end === undefined && this.#input?.writable === true;
  }

  /** Writes to its standard input. @returns how many bytes it had room for. */
  write(bytes: Uint8Array<ArrayBuffer>): number {
    return this.end === undefined ? this.#input?.write(bytes) ?? 0 : 0;
  }

  /** Ends its standard input. */
  closeInput(): void {
    this.#input?.close();
  }
}
