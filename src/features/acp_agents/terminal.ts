/** An agent's command: its output and its end. */
import { redrawn } from "../../base/redraw.ts";
import type { ToolOutcome } from "../../agent/tool.ts";

/** The maximum and the default, in bytes. */
const OUTPUT_MAX = 1024 * 1024;
/** In the output of `run_command`. */
const ENDED_BY = /\[ended by (\w+)\]$/;

interface ExitStatus {
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

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get ended(): Promise<ExitStatus> {
    return this.#ended;
  }

  follow(call: Promise<ToolOutcome>): void {
    this.#ended = call.then(
      ({ exit_code = null, output }) => ({
        exitCode: exit_code,
        signal: exit_code === null ? output.match(ENDED_BY)?.[1] ?? null : null,
      }),
      () => ({ exitCode: null, signal: "SIGKILL" }),
    ).then((exit) => this.#exit = exit);
  }

  /** Adds output, or redraws its last lines; keeps the end of it. */
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
