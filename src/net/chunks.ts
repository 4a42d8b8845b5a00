/** Content in chunks (RFC 9112, section 7.1). */
import type { Incoming } from "./incoming.ts";

const LINE_MAX = 32;
const PIECE_BYTES = 16 * 1024;

/**
 * Reads the content of a message that comes in chunks, without extensions and trailers. A piece is
 * valid until the next one.
 *
 * @throws {Error} for anything else; the connection's error
 */
export async function* chunksOf(from: Incoming): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const piece = new Uint8Array(PIECE_BYTES);
  for (;;) {
    const size = await from.line(LINE_MAX);
    if (size === undefined || !/^[0-9A-Fa-f]{1,12}$/.test(size)) throw new Error("not a chunk");
    let left = parseInt(size, 16);
    if (left === 0) break;
    while (left > 0) {
      const count = await from.read(piece.subarray(0, Math.min(left, PIECE_BYTES)));
      if (count === null) throw new Error("the content was cut off");
      yield piece.subarray(0, count);
      left -= count;
    }
    if (await from.line(LINE_MAX) !== "") throw new Error("not a chunk");
  }
  if (await from.line(LINE_MAX) !== "") throw new Error("a trailer is not expected");
}

/** Returns bytes as a chunk. */
export function chunkOf(bytes: Uint8Array): Uint8Array {
  const size = new TextEncoder().encode(`${bytes.length.toString(16)}\r\n`);
  const chunk = new Uint8Array(size.length + bytes.length + 2);
  chunk.set(size);
  chunk.set(bytes, size.length);
  chunk.set([13, 10], size.length + bytes.length);
  return chunk;
}

/** Ends content in chunks. */
export const LAST_CHUNK = new TextEncoder().encode("0\r\n\r\n");
