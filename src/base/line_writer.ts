import { slices } from "./text_slices.ts";
import { type ByteSink, writeAll } from "./write_all.ts";

/** Characters that may wait for a reader before who writes is asked to wait. */
const WAITING_MAX = 256 * 1024;
/** Characters that are encoded at once. */
const PIECE = 64 * 1024;
/** The most bytes that UTF-8 has for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
const encoder = new TextEncoder();

/** Writes lines whole and in order; what comes while one is written goes out together. */
export class LineWriter {
  readonly #sink: ByteSink;
  readonly #onBroken: () => void;
  #next: string[] = [];
  /** Characters in `#next`. */
  #size = 0;
  #writing: Promise<void> | undefined;
  /** What is being written is in here; there as long as something is. */
  #bytes: Uint8Array<ArrayBuffer> | undefined;

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

  /** Sends a text; a long one in pieces, each in the same bytes, or it would leave as many behind. */
  async #send(text: string): Promise<void> {
    if (text.length <= PIECE) return await writeAll(this.#sink, encoder.encode(text));
    const bytes = this.#bytes ??= new Uint8Array(BYTES_PER_UNIT * PIECE);
    for (const piece of slices(text, PIECE)) {
      const { written } = encoder.encodeInto(piece, bytes);
      await writeAll(this.#sink, bytes.subarray(0, written));
    }
  }

  async #flush(): Promise<void> {
    try {
      while (this.#next.length > 0) {
        const lines = this.#next.splice(0);
        const text = this.#size > PIECE ? "" : lines.join("");
        // Long ones are not joined, as that would be a second copy of them.
        const waiting = text === "" ? lines : [text];
        this.#size = 0;
        for (const each of waiting) await this.#send(each);
      }
    } catch {
      this.#onBroken();
    } finally {
      this.#writing = undefined;
      this.#bytes = undefined;
    }
  }
}
