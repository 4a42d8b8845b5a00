/** A command that an agent has started: its output as it arrives, and its end. */
import { redrawn } from "../../base/redraw.ts";
import type { ToolOutcome } from "../../agent/tool.ts";

/** The most output that is kept, and the default, in bytes. */
const OUTPUT_MAX = 1024 * 1024;
/** The note of `run_command` about a command that a signal ended. */
const ENDED_BY = /\[ended by (\w+)\]$/;

export interface ExitStatus {
  exitCode: number | null;
  signal: string | null;
}

export class Terminal {
  readonly #limit: number;
  readonly #stop = new AbortController();
  #output = new Uint8Array();
  #truncated = false;
  #exit: ExitStatus | undefined;
  #ended: Promise<ExitStatus> = Promise.resolve({ exitCode: null, signal: null });

  constructor(limit = OUTPUT_MAX) {
    this.#limit = Math.min(limit, OUTPUT_MAX);
  }

  /** Fires when the command must stop. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Resolves when the command has ended. */
  get ended(): Promise<ExitStatus> {
    return this.#ended;
  }

  /** Follows the call that runs the command. */
  follow(call: Promise<ToolOutcome>): void {
    this.#ended = call.then(
      ({ exit_code = null, output }) => ({
        exitCode: exit_code,
        signal: exit_code === null ? output.match(ENDED_BY)?.[1] ?? null : null,
      }),
      () => ({ exitCode: null, signal: "SIGKILL" }),
    ).then((exit) => this.#exit = exit);
  }

  /** Adds output, in place of the last lines where they are drawn again; only its end is kept. */
  add(text: string, redraws = 0): void {
    const bytes = new TextEncoder().encode(text);
    const before = redraws === 0
      ? this.#output
      : new TextEncoder().encode(redrawn(new TextDecoder().decode(this.#output), "", redraws));
    const all = new Uint8Array(before.length + bytes.length);
    all.set(before);
    all.set(bytes, before.length);
    this.#truncated ||= all.length > this.#limit;
    this.#output = all.subarray(startOfKept(all, this.#limit));
  }

  /** Returns the output so far and, if the command has ended, how. */
  read(): { output: string; truncated: boolean; exitStatus?: ExitStatus } {
    return {
      output: new TextDecoder().decode(this.#output),
      truncated: this.#truncated,
      exitStatus: this.#exit,
    };
  }

  kill(): void {
    this.#stop.abort(new Error("the agent stopped the command"));
  }
}

/** Returns where the last `limit` bytes begin, without splitting a character. */
function startOfKept(bytes: Uint8Array, limit: number): number {
  let start = Math.max(0, bytes.length - limit);
  while (start < bytes.length && (bytes[start] & 0xc0) === 0x80) start++;
  return start;
}
