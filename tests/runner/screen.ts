/** What people see while tests run. */
import { bold, red } from "@std/fmt/colors";
import { elapsedText } from "../../src/base/elapsed.ts";

/** How long nothing may be printed where there is no terminal. */
const QUIET_MS = 30_000;

/** Where a run is. */
export interface Progress {
  files: number;
  files_done: number;
  passed: number;
  failed: number;
  elapsed_ms: number;
  /** What runs now, the longest first. */
  running: string[];
}

/** Writes where a run is in one line, cut to a width. */
export function progressLine(progress: Progress, width = Infinity): string {
  const { files, files_done, passed, failed, elapsed_ms, running } = progress;
  const parts = [`${files_done}/${files} files`, `${passed} passed`, `${failed} failed`];
  const seconds = Math.floor(elapsed_ms / 1000);
  parts.push(seconds < 60 ? `${seconds} s` : elapsedText(1000 * seconds));
  const line = `${parts.join(", ")}: ${running.join(", ")}`.replace(/: $/, "");
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** A place to write to. */
export interface Output {
  terminal: boolean;
  columns(): number;
  write(text: string | Uint8Array): void;
}

/** The standard output. */
export const STDOUT: Output = {
  get terminal() {
    return Deno.stdout.isTerminal() && Deno.env.get("TERM") !== "dumb";
  },
  columns: () => Deno.consoleSize().columns,
  write(text) {
    const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  },
};

/**
 * Shows a run: on a terminal one line that moves, elsewhere a line from time to time. Everything
 * else stays above it.
 */
export class Screen {
  readonly #output: Output;
  readonly #progress: () => Progress;
  #quiet_since_ms = 0;
  #timer?: number;

  /** @param progress says where the run is. */
  constructor(output: Output, progress: () => Progress) {
    this.#output = output;
    this.#progress = progress;
  }

  /** Begins to show the progress. */
  start(): void {
    this.#timer = setInterval(() => this.update(), this.#output.terminal ? 200 : 1_000);
  }

  /** Ends showing the progress. */
  stop(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  /** Shows where the run is, if it is time to. */
  update(): void {
    const progress = this.#progress();
    if (this.#output.terminal) {
      const line = progressLine(progress, this.#output.columns() - 1);
      this.#output.write(`\r\x1b[2K${line}`);
    } else if (progress.elapsed_ms - this.#quiet_since_ms >= QUIET_MS) {
      this.#quiet_since_ms = progress.elapsed_ms;
      this.#output.write(`${progressLine(progress)}\n`);
    }
  }

  /** Prints lines that stay. */
  print(text: string): void {
    this.#clear();
    this.#output.write(`${text}\n`);
  }

  /** Prints what a failed file reports. */
  failure(title: string, errors: string): void {
    const head = this.#output.terminal ? bold(red("FAILED")) : "FAILED";
    this.print(`${head} ${title}\n${indented(errors)}\n`);
  }

  #clear(): void {
    if (this.#output.terminal) this.#output.write("\r\x1b[2K");
  }
}

/** Indents lines. */
export function indented(text: string, by = "  "): string {
  return text.split("\n").map((line) => line === "" ? line : by + line).join("\n");
}
