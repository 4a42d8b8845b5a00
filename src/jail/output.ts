import { concat } from "../base/bytes.ts";

/** Default for the beginning. */
export const HEAD_BYTES = 8 * 1024;
/** Default for the end. */
export const TAIL_BYTES = 24 * 1024;

const FIRST_CAPACITY = 512;

/**
 * Keeps the first and the last bytes of a stream and counts the rest.
 *
 * @example
 * ```ts
 * const output = new BoundedOutput(4, 4);
 * output.push(new TextEncoder().encode("beginning and end"));
 * output.text(); // "begi\n[… 9 bytes left out …]\n end"
 * ```
 */
export class BoundedOutput {
  /** Bytes pushed, kept or not. */
  total = 0;

  readonly #head_max: number;
  readonly #tail_max: number;
  #head = new Uint8Array(0);
  #head_length = 0;
  // A ring buffer once it has grown to #tail_max; until then #tail_start is 0.
  #tail = new Uint8Array(0);
  #tail_start = 0;
  #tail_length = 0;

  constructor(head_bytes: number = HEAD_BYTES, tail_bytes: number = TAIL_BYTES) {
    this.#head_max = head_bytes;
    this.#tail_max = tail_bytes;
  }

  get truncated(): boolean {
    return this.total > this.#head_length + this.#tail_length;
  }

  /** Bytes kept of the beginning. */
  get head_max(): number {
    return this.#head_max;
  }

  /** The omitted range; undefined if there is none. */
  get left_out(): { from: number; to: number } | undefined {
    if (!this.truncated) return undefined;
    return { from: this.#head_length, to: this.total - this.#tail_length };
  }

  /** Adds bytes. The chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    this.total += chunk.length;
    const room = this.#head_max - this.#head_length;
    if (room > 0) {
      const part = chunk.subarray(0, room);
      this.#head = grow(this.#head, this.#head_length, part.length, this.#head_max);
      this.#head.set(part, this.#head_length);
      this.#head_length += part.length;
    }
    if (chunk.length > room && this.#tail_max > 0) {
      this.#pushTail(chunk.subarray(Math.max(room, chunk.length - this.#tail_max)));
    }
  }

  #pushTail(chunk: Uint8Array): void {
    const max = this.#tail_max;
    this.#tail = grow(this.#tail, this.#tail_length, chunk.length, max);
    const at = (this.#tail_start + this.#tail_length) % max;
    const first = chunk.subarray(0, max - at);
    this.#tail.set(first, at);
    this.#tail.set(chunk.subarray(first.length), 0);
    const length = this.#tail_length + chunk.length;
    this.#tail_start = (this.#tail_start + Math.max(0, length - max)) % max;
    this.#tail_length = Math.min(length, max);
  }

  /**
   * Returns the kept output as text without terminal escape sequences, with a note in place of
   * omitted bytes.
   *
   * @param about lines below the note
   */
  text(about = ""): string {
    const head = this.#head.subarray(0, this.#head_length);
    const tail = this.#linearTail();
    if (!this.truncated) return plainText(decode(concat([head, tail])));
    const start = head.subarray(0, completeLength(head));
    const end = tail.subarray(continuationLength(tail));
    const before = plainText(decode(start));
    const note = leftOut(this.total - start.length - end.length);
    const notes = about === "" ? note : `${note}\n${about}`;
    return `${before}${before.endsWith("\n") ? "" : "\n"}${notes}\n${plainText(decode(end))}`;
  }

  #linearTail(): Uint8Array<ArrayBuffer> {
    const end = this.#tail_start + this.#tail_length;
    if (end <= this.#tail.length) return this.#tail.subarray(this.#tail_start, end);
    return concat([
      this.#tail.subarray(this.#tail_start),
      this.#tail.subarray(0, end - this.#tail.length),
    ]);
  }
}

/** Formats a number with thousands separators: `4,935,712`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

function leftOut(bytes: number): string {
  return `[… ${grouped(bytes)} bytes left out …]`;
}

// node:util's stripVTControlCharacters keeps window titles that contain a space.
const ESCAPES =
  // deno-lint-ignore no-control-regex
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]/g;
// deno-lint-ignore no-control-regex
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
// deno-lint-ignore no-control-regex
const OPEN_ESCAPE = /\x1b(?:\[[0-?]{0,64}[ -/]{0,8}|[\]PX^_][^\x07\x1b]{0,256}|[ -/]{0,8})$/;

function plainText(text: string): string {
  return text.replace(ESCAPES, "").replace(CONTROLS, "");
}

/** Returns where an incomplete escape sequence at the end begins; -1 if there is none. */
export function openEscape(bytes: Uint8Array): number {
  // A longer sequence would not be hidden anyway.
  const from = Math.max(bytes.length - 512, 0);
  const at = new TextDecoder("latin1").decode(bytes.subarray(from)).search(OPEN_ESCAPE);
  return at < 0 ? -1 : from + at;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Returns the length without an incomplete character at the end. */
export function completeLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/** Returns how many bytes at the start belong to an earlier character. */
export function continuationLength(bytes: Uint8Array): number {
  let length = 0;
  while (length < Math.min(3, bytes.length) && (bytes[length] & 0xc0) === 0x80) length++;
  return length;
}

function grow(
  buffer: Uint8Array<ArrayBuffer>,
  used: number,
  more: number,
  max: number,
): Uint8Array<ArrayBuffer> {
  const needed = Math.min(max, used + more);
  if (needed <= buffer.length) return buffer;
  const grown = new Uint8Array(
    Math.min(max, Math.max(FIRST_CAPACITY, buffer.length * 2, needed)),
  );
  grown.set(buffer.subarray(0, used));
  return grown;
}
