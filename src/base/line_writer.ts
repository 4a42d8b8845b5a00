import { slices } from "./text_slices.ts";
import { type ByteSink, writeAll } from "./write_all.ts";

/** Characters that may wait for a reader before who writes is asked to wait. */
const WAITING_MAX = 256 * 1024;

/** Writes lines whole and in order; what comes while one is written goes out together. */
export class LineWriter {
  readonly #sink: ByteSink;
  readonly #onBroken: () => void;
  #next: string[] = [];
  /** Characters in `#next`. */
  #size = 0;
  #writing: Promise<void> | undefined;

  /** @param onBroken called when a write failed: the reader is gone. */
  constructor(sink: ByteSink, onBroken: () => void) {
    this.#sink = sink;
    this.#onBroken = onBroken;
  }

  /** Takes a line; a promise asks the sender to wait until the reader has read. */
  write(line: string): void | Promise<void> {
    this.#next.push(line, "\n");
    this.#size += line.length + 1;
    this.#writing ??= this.#flush();
    if (this.#size > WAITING_MAX) return this.#writing;
  }

  /** Characters that wait behind what is being written. */
  get waiting(): number {
    return this.#size;
  }

  /** Resolves when nothing waits to be written. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #flush(): Promise<void> {
    try {
      while (this.#next.length > 0) {
        const text = this.#next.splice(0).join("");
        this.#size = 0;
        for (const part of slices(text)) {
          await writeAll(this.#sink, new TextEncoder().encode(part));
        }
      }
    } catch {
      this.#onBroken();
    } finally {
      this.#writing = undefined;
    }
  }
}
