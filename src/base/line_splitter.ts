/** Splits bytes into lines; memory is bounded by the longest line. */

const NEWLINE = 0x0a;
const FIRST_CAPACITY = 512;
/** A larger buffer is freed after its line. */
const KEPT_CAPACITY = 64 * 1024;

/** Receives lines without their ends. The bytes are valid only during the call. */
interface LineHandler {
  line(bytes: Uint8Array): void;
  /** Called for each piece of a too long line, first with its beginning. */
  tooLong(piece: Uint8Array): void;
  /** Called at the end of a too long line. */
  tooLongEnd(): void;
}

export class LineSplitter {
  readonly #max: number;
  readonly #handler: LineHandler;
  readonly #delimiter: number;
  #line = new Uint8Array(FIRST_CAPACITY);
  #length = 0;
  #too_long = false;

  /** @param max_bytes the longest line to keep */
  constructor(max_bytes: number, handler: LineHandler, delimiter = NEWLINE) {
    this.#max = max_bytes;
    this.#handler = handler;
    this.#delimiter = delimiter;
  }

  /** Adds bytes; the chunk may be reused. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (let at; (at = chunk.indexOf(this.#delimiter, start)) >= 0; start = at + 1) {
      this.#take(chunk.subarray(start, at));
      this.#end();
    }
    if (start < chunk.length) this.#take(chunk.subarray(start));
  }

  /** Passes on a last line without a newline. */
  close(): void {
    if (this.#too_long || this.#length > 0) this.#end();
  }

  #take(piece: Uint8Array): void {
    if (this.#too_long) return this.#handler.tooLong(piece);
    if (this.#length + piece.length <= this.#max) return this.#keep(piece);
    this.#too_long = true;
    if (this.#length > 0) this.#handler.tooLong(this.#line.subarray(0, this.#length));
    this.#handler.tooLong(piece);
    this.#forget();
  }

  #keep(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#line.length) {
      const larger = new Uint8Array(Math.min(this.#max, Math.max(needed, this.#line.length * 2)));
      larger.set(this.#line.subarray(0, this.#length));
      this.#line = larger;
    }
    this.#line.set(piece, this.#length);
    this.#length = needed;
  }

  #end(): void {
    if (this.#too_long) {
      this.#too_long = false;
      return this.#handler.tooLongEnd();
    }
    const line = this.#line.subarray(0, this.#length);
    this.#forget();
    this.#handler.line(line);
  }

  #forget(): void {
    this.#length = 0;
    if (this.#line.length > KEPT_CAPACITY) this.#line = new Uint8Array(FIRST_CAPACITY);
  }
}
