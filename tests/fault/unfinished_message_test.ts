/** A client with a token that never ends a WebSocket message: the daemon keeps little of it. */
import { assert, assertEquals } from "@std/assert";
import { CONTINUATION, PING, RawWebSocket, TEXT } from "../support/raw.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os !== "linux";
const MIB = 1024 * 1024;
const SENT = 300 * MIB;
/** A message of the largest size, and copies of it that wait to be collected. */
const GROWTH_MAX = 80 * MIB;
const ASK = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "daemon.health" });

async function open({ port, token }: Daemon): Promise<RawWebSocket> {
  const { socket } = await RawWebSocket.open(port, { protocols: `svc.bearer, ${token}` });
  return socket!;
}

/** A frame's head that announces so many bytes, and a mask of zeros. */
function announce(bytes: number): Uint8Array {
  const head = new Uint8Array(14);
  head.set([0x80 | TEXT, 0x80 | 127]);
  new DataView(head.buffer).setBigUint64(2, BigInt(bytes));
  return head;
}

type Send = (socket: RawWebSocket) => Promise<void>;

const UNFINISHED: Record<string, { send: Send; code: number }> = {
  "frames of 1 MiB without an end": {
    async send(socket) {
      const part = new Uint8Array(MIB).fill(0x20);
      await socket.send(TEXT, part, true);
      for (let sent = MIB; sent < SENT; sent += MIB) await socket.send(CONTINUATION, part, true);
    },
    code: 1009,
  },
  "one frame of 300 MiB": {
    async send(socket) {
      await socket.write(announce(SENT));
      const part = new Uint8Array(MIB).fill(0x20);
      for (let sent = 0; sent < SENT - MIB; sent += MIB) await socket.write(part);
    },
    code: 1009,
  },
  "frames of one byte without an end": {
    async send(socket) {
      await socket.send(TEXT, " ", true);
      // Each is a masked frame of seven bytes.
      const frame = new Uint8Array([CONTINUATION, 0x81, 0, 0, 0, 0, 0x20]);
      const many = new Uint8Array(frame.length * 100_000);
      for (let at = 0; at < many.length; at += frame.length) many.set(frame, at);
      for (let sent = 0; sent < 20 * MIB; sent += many.length) await socket.write(many);
    },
    code: 1008,
  },
};

for (const [name, { send, code }] of Object.entries(UNFINISHED)) {
  Deno.test({
    name: `an unfinished message, ${name}: the daemon stays small and closes with ${code}`,
    ignore,
    async fn() {
      await using place = new Place();
      const daemon = await place.serve();
      using first = await open(daemon);
      await first.send(TEXT, ASK);
      await first.json();
      const before = daemon.rss();
      let peak = before;
      const sampler = setInterval(() => peak = Math.max(peak, daemon.rss()), 10);
      using socket = await open(daemon);
      const sending = send(socket).catch(() => {});
      const closed = await socket.closed();
      await sending;
      clearInterval(sampler);
      assertEquals(closed?.code, code);
      const grown = Math.round((peak - before) / MIB);
      assert(peak - before < GROWTH_MAX, `it took ${grown} MiB`);
      await first.send(TEXT, ASK);
      assertEquals((await first.json()).result.status, "ok");
    },
  });
}

Deno.test({
  name: "a message of 8 MiB in many frames is taken, with a ping between them",
  ignore,
  async fn() {
    await using place = new Place();
    using socket = await open(await place.serve());
    await socket.send(TEXT, ASK.padEnd(MIB), true);
    for (let n = 1; n < 7; n++) await socket.send(CONTINUATION, "".padEnd(MIB), true);
    await socket.send(PING, "still here");
    await socket.send(CONTINUATION, "".padEnd(MIB));
    assertEquals((await socket.json()).result.status, "ok");
  },
});
