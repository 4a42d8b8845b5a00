import { joined, sizeOf, slices, type Text } from "./text_slices.ts";
import { type ByteSink, writeAll } from "./write_all.ts";

/** Characters that may wait for a reader before who writes is asked to wait. */
const WAITING_MAX = 256 * 1024;
/** Characters that are encoded at once. */
const PIECE = 64 * 1024;
/** The most bytes that UTF-8 has for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
const encoder = new TextEncoder();

/** A line that waits to be written. */
interface Waiting {
  line: Text;
  size: number;
  /** Tells its sender that it is written, or never will be. */
  written: (() => void) | undefined;
}

/** Writes lines whole and in order; what comes while one is written goes out together. */
export class LineWriter {
  readonly #sink: ByteSink;
  readonly #onBroken: () => void;
  #next: Waiting[] = [];
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

  /** Takes a line; a promise asks the sender to wait until the reader has read it. */
  write(line: Text): void | Promise<void> {
    const size = sizeOf(line) + 1;
    this.#size += size;
    const wait = this.#size > WAITING_MAX ? Promise.withResolvers<void>() : undefined;
    this.#next.push({ line, size, written: wait?.resolve });
    this.#writing ??= this.#flush();
    return wait?.promise;
  }

  /** Characters that wait behind what is being written. */
  get waiting(): number {
    return this.#size;
  }

  /** Resolves when nothing waits to be written. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** Takes what is written next: as many lines as are short together, or a long one. */
  #take(): Waiting[] {
    let size = 0;
    let count = 0;
    do size += this.#next[count++].size; while (
      count < this.#next.length && size + this.#next[count].size <= PIECE
    );
    this.#size -= size;
    return this.#next.splice(0, count);
  }

  async #flush(): Promise<void> {
    let taken: Waiting[] = [];
    try {
      while (this.#next.length > 0) {
        taken = this.#take();
        await this.#send(taken);
        for (const { written } of taken) written?.();
      }
    } catch {
      for (const { written } of [...taken, ...this.#next.splice(0)]) written?.();
      this.#size = 0;
      this.#onBroken();
    } finally {
      this.#writing = undefined;
      this.#bytes = undefined;
    }
  }

  async #send(lines: readonly Waiting[]): Promise<void> {
    const size = lines.reduce((sum, it) => sum + it.size, 0);
    if (size <= PIECE) {
      const text = lines.map(({ line }) => `${joined(line)}\n`).join("");
      return await writeAll(this.#sink, encoder.encode(text));
    }
    for (const { line } of lines) await this.#sendLong(line);
  }

  /** Sends a line in pieces, each in the same bytes, or it would leave as many behind. */
  async #sendLong(line: Text): Promise<void> {
    const bytes = this.#bytes ??= new Uint8Array(BYTES_PER_UNIT * PIECE);
    for (const piece of slices([line, "\n"].flat(), PIECE)) {
      const { written } = encoder.encodeInto(piece, bytes);
      await writeAll(this.#sink, bytes.subarray(0, written));
    }
  }
}
