import { writeAll } from "../base/write_all.ts";

const PIECE_BYTES = 16 * 1024;

/**
 * Carries bytes to their end, and passes the end on.
 *
 * @param active called for each piece
 * @param length bytes that may come; the end is not passed on then
 * @throws either side's error, and when more comes
 */
export async function carry(
  from: Pick<Deno.Conn, "read">,
  to: Deno.Conn,
  active: () => void,
  length = Infinity,
): Promise<void> {
  const piece = new Uint8Array(PIECE_BYTES);
  for (let left = length;;) {
    const count = await from.read(piece);
    if (count === null) break;
    // A second request on the connection would get no answer.
    if (count > left) throw new Error("more than the request");
    active();
    await writeAll(to, piece.subarray(0, count));
    left -= count;
  }
  // A server may take the half-close for a lost interest in the answer.
  if (length === Infinity) await to.closeWrite();
}
