/** Reads messages of a tool server in bounded memory, regardless of their length. */

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
const COMMA = 0x2c;

const FIRST_CAPACITY = 512;
/** A larger buffer is released after the line that needed it. */
const KEPT_CAPACITY = 64 * 1024;

/** Receives the results of a message reader. */
export interface MessageSink {
  message(text: string): void;
  /** Called for a message that was too long to keep; `id` is the message's own, if it has one. */
  tooLong(id: unknown): void;
}

/** Splits a stream of bytes into lines; a line longer than `max_bytes` is skipped. */
export class MessageLines {
  readonly #max: number;
  readonly #sink: MessageSink;
  #line = new Uint8Array(FIRST_CAPACITY);
  #length = 0;
  #id: TopLevelId | undefined;

  constructor(max_bytes: number, sink: MessageSink) {
    this.#max = max_bytes;
    this.#sink = sink;
  }

  /** Adds bytes; the chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    let start = 0;
    for (let at; (at = chunk.indexOf(NEWLINE, start)) >= 0; start = at + 1) {
      this.#take(chunk.subarray(start, at));
      this.#end();
    }
    this.#take(chunk.subarray(start));
  }

  #take(piece: Uint8Array): void {
    if (this.#id !== undefined) return this.#id.push(piece);
    if (this.#length + piece.length <= this.#max) return this.#keep(piece);
    this.#id = new TopLevelId();
    this.#id.push(this.#line.subarray(0, this.#length));
    this.#id.push(piece);
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
    if (this.#id !== undefined) {
      this.#sink.tooLong(this.#id.value());
      this.#id = undefined;
      return;
    }
    const text = new TextDecoder().decode(this.#line.subarray(0, this.#length)).trim();
    this.#forget();
    if (text !== "") this.#sink.message(text);
  }

  #forget(): void {
    this.#length = 0;
    if (this.#line.length > KEPT_CAPACITY) this.#line = new Uint8Array(FIRST_CAPACITY);
  }
}

/** The longest recognized `id`; ours are short. */
const ID_MAX = 64;

/**
 * Finds the `id` of a JSON object without keeping the rest: an answer may have its id at the end as
 * well as at the start.
 */
export class TopLevelId {
  #depth = 0;
  #in_string = false;
  #escaped = false;
  /** The object's member that is being read; a longer name cannot be the id. */
  #member = "";
  #found = "";

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#in_string && !this.#escaped && this.#depth > 1) at = endOfRun(bytes, at);
      if (at < bytes.length) this.#read(bytes[at]);
    }
  }

  /** Returns the value; undefined when the object has none, or it is not a number or string. */
  value(): string | number | undefined {
    try {
      const { id } = JSON.parse(`{${this.#found}}`);
      return typeof id === "number" || typeof id === "string" ? id : undefined;
    } catch {
      return undefined;
    }
  }

  #read(byte: number): void {
    const at_top = this.#depth === 1;
    if (this.#in_string) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#in_string = false;
    } else if (byte === QUOTE) this.#in_string = true;
    else if (OPENING.has(byte)) this.#depth++;
    else if (CLOSING.has(byte)) this.#depth--;
    if (!at_top) return;
    const ends = !this.#in_string && (byte === COMMA || this.#depth === 0);
    if (!ends) {
      if (this.#member.length <= ID_MAX) this.#member += String.fromCharCode(byte);
      return;
    }
    if (/^\s*"id"\s*:/.test(this.#member)) this.#found = this.#member;
    this.#member = "";
  }
}

/** Returns where a string that is skipped may end; most of a long message is one string. */
function endOfRun(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at++;
  return at;
}
