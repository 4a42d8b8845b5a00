/** Reads messages of a tool server in bounded memory, regardless of their length. */
import { LineSplitter } from "../../base/line_splitter.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
const COMMA = 0x2c;

export interface MessageSink {
  message(text: string): void;
  /** Called for a message that was too long; `id` is its own, if it has one. */
  tooLong(id: unknown): void;
}

/** Splits bytes into messages, one per line; one longer than `max_bytes` is skipped. */
export class MessageLines {
  readonly #lines: LineSplitter;
  #id: TopLevelId | undefined;

  constructor(max_bytes: number, sink: MessageSink) {
    const decoder = new TextDecoder();
    this.#lines = new LineSplitter(max_bytes, {
      line(bytes) {
        const text = decoder.decode(bytes).trim();
        if (text !== "") sink.message(text);
      },
      tooLong: (piece) => (this.#id ??= new TopLevelId()).push(piece),
      tooLongEnd: () => {
        sink.tooLong(this.#id?.value());
        this.#id = undefined;
      },
    });
  }

  /** Adds bytes; the chunk may be reused afterwards. */
  push(chunk: Uint8Array): void {
    this.#lines.push(chunk);
  }
}

/** The longest recognized `id`; ours are short. */
const ID_MAX = 64;

/** Finds the `id` at the start or end of a JSON object without keeping the rest. */
export class TopLevelId {
  #depth = 0;
  #in_string = false;
  #escaped = false;
  /** The member that is being read; a longer name cannot be the id. */
  #member = "";
  #found = "";

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) {
      if (this.#in_string && !this.#escaped && this.#depth > 1) at = endOfRun(bytes, at);
      if (at < bytes.length) this.#read(bytes[at]);
    }
  }

  /** Returns the value, if it is a number or string. */
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

/** Skips quickly within a string, of which most of a long message consists. */
function endOfRun(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE && bytes[at] !== BACKSLASH) at++;
  return at;
}
