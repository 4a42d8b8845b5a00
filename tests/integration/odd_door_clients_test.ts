/** Clients of the doors that do what others do not: HTTP/2, compressed bodies, empty headers, pings. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hasProgram } from "../support/programs.ts";
import { Hire, TOKENS } from "../support/hire.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

Deno.test({
  name: "HTTP/2 names the listener in its target: it is answered, another name is refused",
  // moonrepo/proto and others talk HTTP/2 to everything; curl stands for them
  ignore: ignore || !hasProgram("curl"),
  async fn() {
    await using place = new Place();
    const { url, port, token } = await place.serve();
    const status = async (...args: string[]) => {
      const { stdout } = await new Deno.Command("curl", {
        args: ["-s", "-m", "20", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", ...args],
      }).output();
      return new TextDecoder().decode(stdout);
    };
    const bearer = ["-H", `Authorization: Bearer ${token}`, `${url}/v1/health`];
    assertEquals(await status("--http2-prior-knowledge", ...bearer), "2 200");
    const local = [...bearer.slice(0, 2), `http://localhost:${port}/v1/health`];
    // A request of HTTP/1.1 without any Host looks the same.
    assertEquals(await status("--http2-prior-knowledge", ...local), "2 403");
    assertEquals(await status("--http1.1", ...local), "1.1 200");
    const other = ["-H", "Host: evil.example", ...bearer];
    assertEquals(await status("--http2-prior-knowledge", ...other), "2 403");
    assertEquals(await status("--http1.1", ...other), "1.1 403");
  },
});

Deno.test({
  name: "a compressed body is refused with what to do, on every path",
  ignore,
  async fn() {
    await using place = new Place();
    const { url, token } = await place.serve();
    const body = await new Response(
      new Blob(['{"jsonrpc":"2.0","id":1,"method":"daemon.info"}']).stream()
        .pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer();
    for (const path of ["/v1/rpc", "/mcp", "/v1/sessions"]) {
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "content-encoding": "gzip",
        },
        body,
      });
      const { error } = await response.json();
      assertEquals([path, response.status, error.code], [path, 415, "unsupported_media_type"]);
      assertStringIncludes(error.message, "must not be encoded with gzip");
      assertStringIncludes(error.hint, "without Content-Encoding");
    }
  },
});

Deno.test({
  name: "an empty Last-Event-ID is that of a client that has seen nothing",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using client = await daemon.rpc();
    const id = await client.session({ workdir: place.mkdir("project"), model: "builtin/toolbelt" });
    for (const [last, status] of [["", 200], ["0", 200], ["x", 400]] as const) {
      const response = await fetch(`${daemon.url}/v1/sessions/${id}/events`, {
        headers: { authorization: `Bearer ${daemon.token}`, "last-event-id": last },
      });
      assertEquals([last, response.status], [last, status]);
      await response.body?.cancel();
    }
  },
});

Deno.test({
  name: "a WebSocket outlives a burst of pings, and answers the last one",
  ignore,
  async fn() {
    await using place = new Place();
    const { port, token } = await place.serve();
    using conn = await Deno.connect({ hostname: "127.0.0.1", port });
    const lines = [
      "GET /v1/ws HTTP/1.1",
      `Host: 127.0.0.1:${port}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `Sec-WebSocket-Protocol: svc.bearer, ${token}, svc.proto.v1`,
    ];
    await write(conn, new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`));
    const head = new Uint8Array(4096);
    const read = await conn.read(head);
    assertStringIncludes(new TextDecoder().decode(head.subarray(0, read!)), " 101 ");
    const count = 40_000;
    const pings = new Uint8Array(count * 6 + 7);
    // Empty pings with a mask of zeros; the last one has a byte.
    for (let n = 0; n < count; n++) pings.set([0x89, 0x80], n * 6);
    pings.set([0x89, 0x81, 0, 0, 0, 0, 0x2a], count * 6);
    const sending = write(conn, pings);
    // Answers to older pings may be left out (RFC 6455, section 5.5.3).
    const chunk = new Uint8Array(64 * 1024);
    for (let last = 0; last !== 0x2a;) {
      const got = await conn.read(chunk);
      assert(got !== null, "the connection has ended");
      last = chunk[got - 1];
    }
    await sending;
  },
});

Deno.test({
  name: "an A2A request without params, or compressed, is answered as its own",
  ignore,
  async fn() {
    await using place = new Place();
    const hire = await Hire.serve(place);
    try {
      const listed = await hire.request("POST", "/a2a", {
        body: { jsonrpc: "2.0", id: "x-7", method: "ListTasks" },
      });
      assertEquals([listed.status, listed.json.id, listed.json.error], [200, "x-7", undefined]);
      const card = await hire.request("POST", "/a2a", {
        body: { jsonrpc: "2.0", id: 8, method: "GetExtendedAgentCard" },
      });
      assertEquals(card.json.id, 8);
      assert(!JSON.stringify(card.json).includes("params"), JSON.stringify(card.json));
      const body = await new Response(
        new Blob(['{"jsonrpc":"2.0","id":9,"method":"ListTasks"}']).stream()
          .pipeThrough(new CompressionStream("gzip")),
      ).arrayBuffer();
      const packed = await fetch(`${hire.url}/a2a`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${Object.values(TOKENS)[0]}`,
          "content-type": "application/json",
          "content-encoding": "gzip",
        },
        body,
      });
      const { error } = await packed.json();
      assertEquals([packed.status, error.code], [415, -32005]);
      assertStringIncludes(error.message, "must not be encoded with gzip");
    } finally {
      await hire.kill();
    }
  },
});

async function write(conn: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
}
