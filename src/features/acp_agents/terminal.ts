/** A command that an agent has run: its output as it comes, and its end. */
import type { ToolOutcome } from "../../agent/tools.ts";

/** Output kept where the agent sets no limit of its own, and at most, in bytes. */
const OUTPUT_MAX = 1024 * 1024;
/** `run_command` gives this for a command that a signal ended. */
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

  /** Fires when the command is to stop. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Resolves with how the command ended. */
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

  /** Takes output; only the end of it is kept. */
  add(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const all = new Uint8Array(this.#output.length + bytes.length);
    all.set(this.#output);
    all.set(bytes, this.#output.length);
    this.#truncated ||= all.length > this.#limit;
    this.#output = all.subarray(startOfKept(all, this.#limit));
  }

  /** The output so far, and how the command ended, if it has. */
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

/** Where the last `limit` bytes begin, not in the middle of a character. */
function startOfKept(bytes: Uint8Array, limit: number): number {
  let start = Math.max(0, bytes.length - limit);
  while (start < bytes.length && (bytes[start] & 0xc0) === 0x80) start++;
  return start;
}
