import { assert, assertEquals } from "@std/assert";
import { delay } from "@std/async";
import { granted } from "../../tests/support/permissions.ts";
import { openLibc } from "../os/libc.ts";
import { HttpListener } from "./http_listener.ts";
import type { Log } from "../os/log.ts";

const ignore = Deno.build.os !== "linux" || !granted("net", "ffi", "read");
const log = { error() {}, warn() {}, info() {}, debug() {} } as unknown as Log;
const PATIENCE = { look: 200, idle: 2_000, blocked: 3_000 };
/** Longer than any patience. */
const LONG_MS = 4_500;

const encoder = new TextEncoder();

/** A listener, and raw connections to it that end with it. */
async function listening(
  handle: Deno.ServeHandler<Deno.NetAddr>,
  use: (connect: (path?: string) => Promise<Deno.TcpConn>) => Promise<void>,
) {
  const listener = new HttpListener(
    { hostname: "127.0.0.1", port: 0, log, patience: PATIENCE },
    handle,
  );
  const open: Deno.TcpConn[] = [];
  try {
    await use(async (path) => {
      const conn = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
      open.push(conn);
      if (path !== undefined) {
        await conn.write(encoder.encode(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`));
      }
      return conn;
    });
  } finally {
    for (const conn of open) conn.close();
    await listener.close();
  }
}

/** All that comes until the other side ends the connection. */
async function rest(conn: Deno.TcpConn): Promise<string> {
  const decoder = new TextDecoder();
  const chunk = new Uint8Array(64 * 1024);
  let text = "";
  for (let size; (size = await conn.read(chunk)) !== null;) {
    text += decoder.decode(chunk.subarray(0, size), { stream: true });
  }
  return text;
}

const options = { ignore, sanitizeResources: false };

Deno.test(
  "a connection without a request ends, also one that sends its head drop by drop",
  options,
  async () => {
    await listening(() => new Response("hello"), async (connect) => {
      assertEquals(await rest(await connect()), "");
      const slow = await connect();
      const dropping = (async () => {
        for (;;) {
          await slow.write(encoder.encode("G"));
          await delay(20);
        }
      })().catch(() => {});
      await rest(slow).catch(() => {});
      await dropping;
      const kept = await rest(await connect("/"));
      assert(kept.endsWith("hello"), kept);
    });
  },
);

Deno.test(
  "an answer that takes its time is waited for, and so are events that do not come",
  options,
  async () => {
    const events = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      controller.enqueue(encoder.encode(": open\n\n"));
      setTimeout(() => {
        controller.enqueue(encoder.encode("data: late\n\n"));
        controller.close();
      }, LONG_MS);
    };
    await listening(async ({ url }) => {
      if (new URL(url).pathname === "/events") {
        return new Response(new ReadableStream({ start: events }), {
          headers: { "content-type": "text/event-stream" },
        });
      }
      await delay(LONG_MS);
      return new Response("worked");
    }, async (connect) => {
      const [worked, streamed] = await Promise.all([
        connect("/work").then(rest),
        connect("/events").then(rest),
      ]);
      assert(worked.includes("worked"), worked);
      assert(streamed.includes("data: late"), JSON.stringify(streamed));
    });
  },
);

Deno.test("a client that reads nothing of its answer is let go of", options, async () => {
  const gone = Promise.withResolvers<void>();
  const endless = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
      cancel: () => gone.resolve(),
    });
  await listening(() => new Response(endless()), async (connect) => {
    await connect("/");
    await gone.promise;
  });
});

Deno.test(
  "a WebSocket whose peer answers no ping gives its connection back; one that answers keeps it",
  options,
  async () => {
    const upgrade = (request: Request) => {
      const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 1 });
      socket.onerror = () => {};
      return response;
    };
    await listening(upgrade, async (connect) => {
      const dead = await connect();
      const handshake = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n" +
        "upgrade: websocket\r\nsec-websocket-version: 13\r\n" +
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
      await dead.write(encoder.encode(handshake));
      const living = new WebSocket(`ws://127.0.0.1:${dead.remoteAddr.port}/`);
      const open = new Promise((resolve) => living.onopen = resolve);
      await open;
      assert((await rest(dead)).startsWith("HTTP/1.1 101"));
      await delay(LONG_MS);
      assertEquals(living.readyState, WebSocket.OPEN);
      const closed = new Promise((resolve) => living.onclose = resolve);
      living.close();
      await closed;
    });
  },
);

Deno.test(
  "a small write does not wait for the acknowledgement of the one before",
  options,
  async () => {
    // What the kernel says of the option, as a clock would fail on a busy machine.
    await listening(() => new Response("hello"), async (connect) => {
      const conn = await connect("/");
      await conn.read(new Uint8Array(1024));
      const nodelay = acceptedNoDelay(conn.localAddr.port);
      assertEquals(nodelay, [1]);
    });
  },
);

/** TCP_NODELAY of this process's sockets whose other end is at a port. */
function acceptedNoDelay(peer_port: number): number[] {
  const libc = openLibc({
    getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
    getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  })!.symbols;
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc/self/fd")) {
    const address = new Uint8Array(28);
    const value = new Int32Array(1);
    const size = (bytes: number) => new Uint8Array(new Uint32Array([bytes]).buffer);
    if (libc.getpeername(Number(name), address, size(28)) !== 0) continue;
    if (new DataView(address.buffer).getUint16(2) !== peer_port) continue;
    libc.getsockopt(Number(name), 6, 1, new Uint8Array(value.buffer), size(4));
    found.push(value[0]);
  }
  return found;
}
