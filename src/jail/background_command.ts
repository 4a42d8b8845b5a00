/** One command that runs beside the calls of its session. */
import { messageOf } from "../protocol/errors.ts";
import { InputPipe } from "../os/input_pipe.ts";
import { OutputRing } from "./output_ring.ts";
import { type ProcessEnd, runMerged } from "./process.ts";
import type { Sandbox, SandboxScope } from "./sandbox.ts";

/** Bytes of output kept for a command. */
const OUTPUT_KEPT = 1024 * 1024;

export interface BackgroundOptions {
  command: string;
  scope: SandboxScope;
  sandbox: Sandbox;
  /** No limit if unset. */
  timeout_ms?: number;
}

/** How a command ended. `problem` is why it could not start. */
export interface BackgroundEnd extends Partial<ProcessEnd> {
  /** Whether {@linkcode BackgroundCommand.stop} ended it. */
  stopped: boolean;
  problem?: string;
}

export class BackgroundCommand {
  readonly output: OutputRing = new OutputRing(OUTPUT_KEPT);
  /** Undefined while it runs. */
  end: BackgroundEnd | undefined;
  /** Resolves when it and its processes have ended. Never rejects. */
  readonly ended: Promise<BackgroundEnd>;
  readonly #input: InputPipe | undefined = InputPipe.open();
  readonly #stop = new AbortController();
  #changed = Promise.withResolvers<void>();

  /** Starts the command. A failed start shows in {@linkcode ended}. */
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

  /** Resolves at the next output, or at the end. */
  changed(): Promise<void> {
    return this.end === undefined ? this.#changed.promise : Promise.resolve();
  }

  /** Sends SIGTERM, and after the grace period kills the command with all its processes. */
  async stop(): Promise<void> {
    this.#stop.abort(new DOMException("the command was stopped", "AbortError"));
    await this.ended;
  }

  get writable(): boolean {
    return this.end === undefined && this.#input?.writable === true;
  }

  /** Writes to standard input. @returns how many bytes it had room for. */
  write(bytes: Uint8Array<ArrayBuffer>): number {
    return this.end === undefined ? this.#input?.write(bytes) ?? 0 : 0;
  }

  closeInput(): void {
    this.#input?.close();
  }
}
