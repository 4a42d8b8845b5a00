/** The end of a command's output, for readers that each have their own place in it. */
import type * as z from "zod";
import { completeLength, continuationLength, grouped, openEscape } from "./output.ts";
import { shownOf } from "./shown_output.ts";
import type { outputPieceSchema } from "../protocol/schemas/background.ts";

/** A piece of output. */
export type OutputPiece = z.output<ReturnType<typeof outputPieceSchema>>;

const FIRST_CAPACITY = 4 * 1024;

/** Keeps the last bytes of a stream. */
export class OutputRing {
  /** Bytes pushed so far, kept or not. */
  total = 0;
  readonly #max: number;
  #bytes = new Uint8Array(0);

  /** @param max the most bytes that are kept */
  constructor(max: number) {
    this.#max = max;
  }

  /** Offset of the first byte that is kept. */
  get start(): number {
    return Math.max(this.total - this.#max, 0);
  }

  /** Adds bytes; the chunk may be reused afterwards. */
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
    // Nothing has wrapped before it has its full size.
    const size = Math.max(FIRST_CAPACITY, 2 * this.#bytes.length, needed);
    const grown = new Uint8Array(Math.min(size, this.#max));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }

  /**
   * Reads on from a place.
   *
   * @param from the `next` of the last piece; 0 for the beginning
   * @param max the most bytes
   * @param whole whether nothing follows: a character or an escape sequence that is not complete is
   * then no longer waited for
   */
  read(from: number, max: number, whole: boolean): OutputPiece {
    const at = Math.min(Math.max(from, this.start), this.total);
    const dropped = Math.max(this.start - from, 0);
    let bytes = this.#slice(at, Math.min(at + max, this.total));
    const all = at + bytes.length === this.total;
    if (!all || !whole) {
      const ready = readyLength(bytes);
      // Within a reader's piece of other bytes it would never get on.
      if (ready > 0 || all) bytes = bytes.subarray(0, ready);
    }
    // What was dropped may have ended within a character.
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

/** How many of these bytes can be shown before more have come. */
function readyLength(bytes: Uint8Array): number {
  const complete = completeLength(bytes);
  const open = openEscape(bytes.subarray(0, complete));
  return open < 0 ? complete : open;
}
