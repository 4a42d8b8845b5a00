/** A connection whose first bytes are looked at before the rest. */
import { HEAD_MAX } from "./http_head.ts";

/** Bytes read too early are read again. */
export class Incoming {
  readonly conn: Deno.Conn;
  #ahead: Uint8Array<ArrayBuffer> = new Uint8Array();

  constructor(conn: Deno.Conn) {
    this.conn = conn;
  }

  /** The first byte. @throws at the end */
  async peek(): Promise<number> {
    await this.#more();
    return this.#ahead[0];
  }

  /** Reads an HTTP head; undefined when it is too long. @throws at the end */
  async head(max = HEAD_MAX): Promise<Uint8Array | undefined> {
    for (let from = 0;;) {
      const end = endOfHead(this.#ahead, from);
      if (end !== undefined && end <= max) return this.#take(end);
      if (this.#ahead.length >= max) return undefined;
      from = Math.max(0, this.#ahead.length - 3);
      await this.#more();
    }
  }

  /** Reads a line without its CRLF; undefined when it is too long. @throws at the end */
  async line(max: number): Promise<string | undefined> {
    for (;;) {
      const end = this.#ahead.indexOf(10);
      if (end > max || (end < 0 && this.#ahead.length > max)) return undefined;
      if (end < 0) {
        await this.#more();
        continue;
      }
      const line = String.fromCharCode(...this.#take(end + 1));
      return line.endsWith("\r\n") ? line.slice(0, -2) : undefined;
    }
  }

  #take(count: number): Uint8Array<ArrayBuffer> {
    const taken = this.#ahead.slice(0, count);
    this.#ahead = this.#ahead.slice(count);
    return taken;
  }

  async #more(): Promise<void> {
    const piece = new Uint8Array(4096);
    const count = await this.conn.read(piece);
    if (count === null) throw new Error("the other side has disconnected");
    const joined = new Uint8Array(this.#ahead.length + count);
    joined.set(this.#ahead);
    joined.set(piece.subarray(0, count), this.#ahead.length);
    this.#ahead = joined;
  }

  async read(into: Uint8Array): Promise<number | null> {
    if (this.#ahead.length === 0) return await this.conn.read(into);
    const count = Math.min(into.length, this.#ahead.length);
    into.set(this.#ahead.subarray(0, count));
    this.#ahead = this.#ahead.slice(count);
    return count;
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.conn.write(bytes);
  }
}

/** The position after a head's empty line. */
function endOfHead(bytes: Uint8Array, from: number): number | undefined {
  for (let at = from; at + 3 < bytes.length; at++) {
    if (bytes[at] === 13 && bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) {
      return at + 4;
    }
  }
  return undefined;
}
