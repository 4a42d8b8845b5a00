/** The end of a command's output, for several readers at their own positions. */
import type * as z from "zod";
import { completeLength, continuationLength, grouped, openEscape } from "./output.ts";
import { shownOf } from "./shown_output.ts";
import type { outputPieceSchema } from "../protocol/schemas/background.ts";

export type OutputPiece = z.output<ReturnType<typeof outputPieceSchema>>;

const FIRST_CAPACITY = 4 * 1024;

export class OutputRing {
  /** Bytes pushed, kept or not. */
  total = 0;
  readonly #max: number;
  #bytes = new Uint8Array(0);

  constructor(max: number) {
    this.#max = max;
  }

  /** Offset of the first kept byte. */
  get start(): number {
    return Math.max(this.total - this.#max, 0);
  }

  /** Adds bytes. The chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    const part = chunk.subarray(Math.max(chunk.length - this.#max, 0));
    let at = this.total + chunk.length - part.length;
    this.#grow(Math.min(this.total + chunk.length, this.#max));
    this.total += chunk.length;
    for (let from = 0; from < part.length;) {
      const place = at % this.#max;
      const count = Math.min(part.length - from, this.#max - place);
      this.#bytes.set(part.subarray(from, from + count), place);
      from += count;
      at += count;
    }
  }

  #grow(needed: number): void {
    if (needed <= this.#bytes.length) return;
    // Nothing wraps until it has its full size.
    const size = Math.max(FIRST_CAPACITY, 2 * this.#bytes.length, needed);
    const grown = new Uint8Array(Math.min(size, this.#max));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }

  /**
   * Reads on from a position.
   *
   * @param from the `next` of the last piece; 0 for the beginning
   * @param whole whether the output is complete, so that it does not wait for the rest of a
   * character or escape sequence
   */
  read(from: number, max: number, whole: boolean): OutputPiece {
    const at = Math.min(Math.max(from, this.start), this.total);
    const dropped = Math.max(this.start - from, 0);
    let bytes = this.#slice(at, Math.min(at + max, this.total));
    const all = at + bytes.length === this.total;
    if (!all || !whole) {
      const ready = readyLength(bytes);
      // Otherwise a reader whose piece is one long sequence would never advance.
      if (ready > 0 || all) bytes = bytes.subarray(0, ready);
    }
    // The dropped part may have ended within a character.
    const shown = dropped > 0 ? bytes.subarray(continuationLength(bytes)) : bytes;
    const text = shownOf(shown);
    const next = at + bytes.length;
    const note = dropped > 0 ? `[… ${grouped(dropped)} bytes were dropped …]\n` : "";
    return { text: note + text, next, dropped, left: this.total - next };
  }

  #slice(from: number, to: number): Uint8Array {
    const place = from % this.#max;
    const first = this.#bytes.subarray(place, Math.min(place + to - from, this.#bytes.length));
    const piece = new Uint8Array(to - from);
    piece.set(first);
    piece.set(this.#bytes.subarray(0, piece.length - first.length), first.length);
    return piece;
  }
}

/** How many of these bytes can be shown before more arrive. */
function readyLength(bytes: Uint8Array): number {
  const complete = completeLength(bytes);
  const open = openEscape(bytes.subarray(0, complete));
  return open < 0 ? complete : open;
}
