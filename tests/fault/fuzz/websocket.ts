/** WebSocket frames as no client should send them. */
import type { Random } from "../../support/random.ts";

const encoder = new TextEncoder();

export interface FrameOptions {
  fin?: boolean;
  /** The three reserved bits. */
  reserved?: number;
  masked?: boolean;
  /** What the frame says that its length is. */
  claimed?: bigint;
}

/** The bytes of a frame. */
export function frame(
  opcode: number,
  payload: string | Uint8Array = "",
  { fin = true, reserved = 0, masked = true, claimed }: FrameOptions = {},
): Uint8Array<ArrayBuffer> {
  const bytes = typeof payload === "string" ? encoder.encode(payload) : payload;
  const length = claimed ?? BigInt(bytes.length);
  const extended = length < 126n ? 0 : length < 65_536n ? 2 : 8;
  const out = new Uint8Array(2 + extended + (masked ? 4 : 0) + bytes.length);
  const view = new DataView(out.buffer);
  out[0] = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  out[1] = (masked ? 0x80 : 0) | (extended === 0 ? Number(length) : extended === 2 ? 126 : 127);
  if (extended === 2) view.setUint16(2, Number(length));
  if (extended === 8) view.setBigUint64(2, BigInt.asUintN(64, length));
  // A mask of zeros is one too.
  out.set(bytes, out.length - bytes.length);
  return out;
}

/** A close frame's payload. */
export function closing(code: number, reason = ""): Uint8Array {
  const text = encoder.encode(reason);
  const payload = new Uint8Array(2 + text.length);
  new DataView(payload.buffer).setUint16(0, code);
  payload.set(text, 2);
  return payload;
}

const HEALTH = '{"jsonrpc":"2.0","id":1,"method":"daemon.health"}';
const OPCODES = [0, 1, 1, 1, 2, 3, 7, 8, 9, 10, 11, 15];
const CODES = [0, 999, 1000, 1001, 1004, 1005, 1006, 1015, 2999, 3000, 4999, 5000, 65_535];

/** A few frames in a row. */
export function frames(random: Random): Uint8Array<ArrayBuffer> {
  const all = Array.from({ length: 1 + random.below(6) }, () => {
    const opcode = random.pick(OPCODES);
    const payload = opcode === 8 && random.chance(0.7)
      ? closing(random.pick(CODES), random.pick(["", "bye", "\ufffd".repeat(60)]))
      : random.pick<string | Uint8Array>([
        "",
        HEALTH,
        HEALTH,
        "{",
        "\0",
        "x".repeat(random.pick([1, 125, 126, 127, 65_535, 65_536])),
        new Uint8Array([0xff, 0xfe]),
        new Uint8Array([0xc3]),
        new Uint8Array([0xed, 0xa0, 0x80]),
      ]);
    return frame(opcode, payload, {
      fin: random.chance(0.8),
      reserved: random.chance(0.9) ? 0 : random.below(8),
      masked: random.chance(0.9),
      claimed: random.chance(0.95)
        ? undefined
        : random.pick([0n, 125n, 65_535n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n]),
    });
  });
  const joined = new Uint8Array(all.reduce((sum, it) => sum + it.length, 0));
  let at = 0;
  for (const one of all) {
    joined.set(one, at);
    at += one.length;
  }
  return random.chance(0.1) ? joined.slice(0, random.below(joined.length)) : joined;
}
