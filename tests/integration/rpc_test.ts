import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TextLineStream } from "@std/streams";
import { writeAll } from "../../src/base/write_all.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";
import { rawHttp, RawWebSocket, TEXT } from "../support/raw.ts";
import { until } from "../support/scripted.ts";

const ignore = !can_run_svc;
const JSON_TYPE = { "content-type": "application/json" };
const NO_SESSION = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV";
// deno-lint-ignore no-explicit-any -- what comes over the wire is asserted field by field
type Json = any;

const MARKER = '{"jsonrpc":"2.0","id":"marker","method":"daemon.health"}';

/** A way to say a JSON-RPC text. */
interface Transport {
  /**
   * @param answers whether the text is answered
   * @returns the answer, after which nothing came but the one to a second message
   */
  (daemon: Daemon, text: string, answers: boolean): Promise<Json>;
}

/** Says a text and then another one, whose answer is the next or the only one. */
async function said(
  { send, receive }: { send(text: string): Promise<unknown>; receive(): Promise<Json> },
  text: string,
  answers: boolean,
): Promise<Json> {
  await send(text);
  const answer = answers ? await receive() : undefined;
  // A moment for an answer that must not come.
  if (!answers) await new Promise((resolve) => setTimeout(resolve, 40));
  await send(MARKER);
  assertEquals((await receive()).id, "marker");
  return answer;
}

const TRANSPORTS: Record<string, Transport> = {
  async socket(daemon, text, answers) {
    using conn = await Deno.connect({ transport: "unix", path: daemon.sock });
    const reader = conn.readable.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()).getReader();
    const peer = {
      send: (text: string) => conn.write(new TextEncoder().encode(`${text}\n`)),
      receive: async () => JSON.parse((await reader.read()).value!),
    };
    const answer = await said(peer, text.replaceAll("\n", " "), answers);
    await reader.cancel();
    return answer;
  },
  async websocket(daemon, text, answers) {
    const protocols = `svc.bearer, ${daemon.token}, svc.proto.v1`;
    using socket = (await RawWebSocket.open(daemon.port, { protocols })).socket!;
    const peer = {
      send: (text: string) => socket.send(TEXT, text),
      receive: () => socket.json(),
    };
    return await said(peer, text, answers);
  },
  async http(daemon, text) {
    const headers = { authorization: `Bearer ${daemon.token}`, ...JSON_TYPE };
    const { status, body } = await rawHttp(daemon.port, "POST", "/v1/rpc", headers, text);
    assertEquals(status, body === "" ? 204 : 200, text);
    return body === "" ? undefined : JSON.parse(body);
  },
};

for (const [name, say] of Object.entries(TRANSPORTS)) {
  Deno.test({
    name: `JSON-RPC 2.0 in full over ${name}`,
    ignore,
    async fn() {
      await using place = new Place();
      const daemon = await place.serve();
      const call = (message: unknown) => say(daemon, JSON.stringify(message), true);
      const notify = (message: unknown) => say(daemon, JSON.stringify(message), false);
      const health = { jsonrpc: "2.0", method: "daemon.health" };
      for (const id of ["one", "", 7, 1.5, -1, null]) {
        const { id: echoed, result, jsonrpc } = await call({ ...health, id });
        assertEquals([echoed, result.status, jsonrpc], [id, "ok", "2.0"]);
      }
      const failed = async (message: unknown, id: unknown, code: number) => {
        const answer = typeof message === "string"
          ? await say(daemon, message, true)
          : await call(message);
        assertEquals([answer.id, answer.error?.code], [id, code], JSON.stringify(message));
        assertMatch(answer.error.data.svc_code, /^[a-z_]+$/);
      };
      await failed("{", null, -32700);
      await failed("[1, 2", null, -32700);
      await failed([], null, -32600);
      await failed(7, null, -32600);
      await failed({ id: 4, method: "daemon.health" }, 4, -32600);
      await failed({ jsonrpc: "2.0", id: 4, method: 5 }, 4, -32600);
      await failed({ jsonrpc: "2.0", id: 4, method: "daemon.health", params: 5 }, 4, -32600);
      await failed({ ...health, id: {} }, null, -32600);
      await failed({ jsonrpc: "2.0", id: "x", method: "no.such" }, "x", -32601);
      await failed({ jsonrpc: "2.0", id: "x", method: "constructor" }, "x", -32601);
      const get = { jsonrpc: "2.0", id: 9, method: "session.get" };
      await failed({ ...get, params: {} }, 9, -32602);
      await failed({ ...get, params: { session_id: 5 } }, 9, -32602);
      await failed({ ...get, params: { session_id: NO_SESSION } }, 9, -32002);
      const start = { jsonrpc: "2.0", id: 9, method: "session.start" };
      await failed({ ...start, params: { workdir: "relative" } }, 9, -32001);

      // Notifications are never answered, not even wrong ones.
      assertEquals(await notify(health), undefined);
      assertEquals(await notify({ jsonrpc: "2.0", method: "no.such" }), undefined);
      assertEquals(await notify({ jsonrpc: "2.0", method: "session.get" }), undefined);
      assertEquals(await notify([health, health]), undefined);
      const batch = await call([{ ...health, id: 1 }, health, 3, { ...get, id: "b", params: {} }]);
      const seen = batch.map(({ id, error }: Json) => [id, error?.code]);
      assertEquals(seen, [[1, undefined], [null, -32600], ["b", -32602]]);
      // Both come from one dispatcher: a notification is carried out.
      const workdir = place.mkdir("project");
      await notify({ jsonrpc: "2.0", method: "session.start", params: { workdir } });
      const sessions = async () => (await call({ ...health, id: 1 })).result.sessions;
      await until(async () => await sessions() === 1, "the session of the notification");
    },
  });
}

Deno.test({
  name: "a line of more than 8 MiB is refused, and only its own connection is closed",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using other = await daemon.rpc();
    const conn = await Deno.connect({ transport: "unix", path: daemon.sock });
    const flood = async () => {
      const chunk = new Uint8Array(1024 * 1024).fill(0x61);
      for (let n = 0; n < 9; n++) await writeAll(conn, chunk);
    };
    flood().catch(() => {});
    let text = "";
    for await (const part of conn.readable.pipeThrough(new TextDecoderStream())) text += part;
    const { id, error } = JSON.parse(text);
    assertEquals([id, error.code], [null, -32600]);
    assertEquals((await other.rpc.call("daemon.health")).status, "ok");
    // What is just short enough is taken: the answer is about what it says.
    using large = await Deno.connect({ transport: "unix", path: daemon.sock });
    const params = { session_id: NO_SESSION, text: "x".repeat(8 * 1024 * 1024 - 200) };
    const line = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "session.send", params });
    await writeAll(large, new TextEncoder().encode(`${line}\n`));
    const buffer = new Uint8Array(4096);
    const read = await large.read(buffer);
    assertStringIncludes(new TextDecoder().decode(buffer.subarray(0, read!)), "-32002");
  },
});
