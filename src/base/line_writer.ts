import { joined, sizeOf, slices, type Text } from "./text_slices.ts";
import { type ByteSink, writeAll } from "./write_all.ts";

/** Characters that may wait before the sender is asked to. */
const WAITING_MAX = 256 * 1024;
/** Characters to encode at once. */
const PIECE = 64 * 1024;
/** Most bytes of UTF-8 for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
const encoder = new TextEncoder();

interface Waiting {
  line: Text;
  size: number;
  /** Called when it is written or dropped. */
  written: (() => void) | undefined;
}

/** Writes lines whole and in order; lines that arrive during a write go out together. */
export class LineWriter {
  readonly #sink: ByteSink;
  readonly #onBroken: () => void;
  #next: Waiting[] = [];
  /** Characters in `#next`. */
  #size = 0;
  #writing: Promise<void> | undefined;
  /** Reused buffer, while a write runs. */
  #bytes: Uint8Array<ArrayBuffer> | undefined;

  /** @param onBroken called when a write fails: the reader is gone */
  constructor(sink: ByteSink, onBroken: () => void) {
    this.#sink = sink;
    this.#onBroken = onBroken;
  }

  /** Takes a line; a returned promise asks the sender to wait for the reader. */
  write(line: Text): void | Promise<void> {
    const size = sizeOf(line) + 1;
    this.#size += size;
    const wait = this.#size > WAITING_MAX ? Promise.withResolvers<void>() : undefined;
    this.#next.push({ line, size, written: wait?.resolve });
    this.#writing ??= this.#flush();
    return wait?.promise;
  }

  /** Characters not being written yet. */
  get waiting(): number {
    return this.#size;
  }

  async idle(): Promise<void> {
    await this.#writing;
  }

  /** Takes the next lines: several short ones, or a long one. */
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

  /** Sends a line in pieces through one buffer, to leave little garbage. */
  async #sendLong(line: Text): Promise<void> {
    const bytes = this.#bytes ??= new Uint8Array(BYTES_PER_UNIT * PIECE);
    for (const piece of slices([line, "\n"].flat(), PIECE)) {
      const { written } = encoder.encodeInto(piece, bytes);
      await writeAll(this.#sink, bytes.subarray(0, written));
    }
  }
}
