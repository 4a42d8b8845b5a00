/** `/mcp` of the daemon: who may speak to it, its sessions, streams that break off or are not read. */
import { assert, assertEquals } from "@std/assert";
import { SseReader } from "../contract/client.ts";
import { longProject } from "../support/mcp.ts";
import { rawHttp } from "../support/raw.ts";
import { processesWith, until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

// deno-lint-ignore no-explicit-any -- answers are looked into
type Json = any;

const ACCEPT = "application/json, text/event-stream";
const PROTOCOL = "2025-11-25";
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: PROTOCOL,
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};

function overHttp(name: string, fn: (place: Place, daemon: Daemon) => Promise<void>): void {
  Deno.test({
    name: `/mcp: ${name}`,
    ignore: !can_run_svc,
    async fn() {
      await using place = new Place();
      await fn(place, await place.serve());
    },
  });
}

/** One MCP session, without a client's library. */
class McpSession {
  readonly headers: Record<string, string>;
  readonly #url: string;
  #id = 0;

  private constructor(daemon: Daemon, session: string) {
    this.#url = `${daemon.url}/mcp`;
    this.headers = {
      authorization: `Bearer ${daemon.token}`,
      "mcp-session-id": session,
      "mcp-protocol-version": PROTOCOL,
      "content-type": "application/json",
      accept: ACCEPT,
    };
  }

  static async open(daemon: Daemon): Promise<McpSession> {
    const response = await fetch(`${daemon.url}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${daemon.token}`,
        "content-type": "application/json",
        accept: ACCEPT,
      },
      body: JSON.stringify(INITIALIZE),
    });
    await response.text();
    assertEquals(response.status, 200);
    return new McpSession(daemon, response.headers.get("mcp-session-id")!);
  }

  post(method: string, params: Json = {}): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: ++this.#id, method, params });
    return fetch(this.#url, { method: "POST", headers: this.headers, body });
  }

  /** Calls a tool. */
  async tool(name: string, args: Json): Promise<Json> {
    const response = await this.post("tools/call", { name, arguments: args });
    const [, answer] = (await response.text()).match(/^data: (\{.*)$/m) ?? [];
    const { data, ok } = JSON.parse(answer).result.structuredContent;
    assert(ok, answer);
    return data;
  }

  /** The stream of what is pushed, or one that broke off. */
  async stream(last_event_id?: string): Promise<SseReader> {
    const resume = last_event_id === undefined ? {} : { "last-event-id": last_event_id };
    const headers = { ...this.headers, accept: "text/event-stream", ...resume };
    let stream: SseReader | undefined;
    await until(async () => {
      stream = await SseReader.open(this.#url, headers as Record<string, string>).catch((error) => {
        // The daemon has yet to notice that the one before broke off.
        if (!error.message.startsWith("SSE answered 409")) throw error;
        return undefined;
      });
      return stream !== undefined;
    }, "a stream");
    return stream!;
  }

  async end(): Promise<number> {
    const response = await fetch(this.#url, { method: "DELETE", headers: this.headers });
    await response.text();
    return response.status;
  }
}

/** The data of the next pushed event that fits, and the id of its place in the stream. */
async function next(stream: SseReader, fits: (data: Json) => boolean): Promise<Json> {
  for (let event; (event = await stream.next()) !== undefined;) {
    const { method, params } = JSON.parse(event.data || "{}");
    if (method === "notifications/message" && fits(params.data)) {
      return { id: event.id, data: params.data };
    }
  }
  throw new Error("the stream ended before");
}

/** What a stream was pushed so far. */
function pushedBy(stream: SseReader): Json[] {
  return stream.events.map(({ data }) => JSON.parse(data || "{}"))
    .filter(({ method }) => method === "notifications/message")
    .map(({ params }) => params.data);
}

overHttp("the guards of every other path stand before it", async (_place, daemon) => {
  const body = JSON.stringify(INITIALIZE);
  const headers = {
    authorization: `Bearer ${daemon.token}`,
    "content-type": "application/json",
    accept: ACCEPT,
  };
  const status = async (more: Record<string, string | undefined>, method = "POST") =>
    (await rawHttp(daemon.port, method, "/mcp", { ...headers, ...more }, body)).status;
  assertEquals(await status({}), 200);
  assertEquals(await status({ authorization: undefined }), 401);
  assertEquals(await status({ authorization: `Bearer ${"0".repeat(64)}` }), 401);
  assertEquals(await status({ origin: "https://evil.example" }), 403);
  assertEquals(await status({ host: `evil.example:${daemon.port}` }), 403);
  assertEquals(await status({ origin: daemon.url }), 200);
  assertEquals(await status({}, "PUT"), 405);
  assertEquals(await status({ "content-type": "text/plain" }), 415);
  assertEquals(await status({ accept: "text/html" }), 406);
  assertEquals(await status({ "mcp-session-id": "none" }), 404);
  assertEquals((await daemon.http("GET", "/mcp", undefined, { accept: ACCEPT })).status, 400);
  assertEquals(
    (await daemon.http("POST", "/mcp?caps=some", INITIALIZE, { accept: ACCEPT })).status,
    400,
  );
  const refused = await rawHttp(daemon.port, "POST", "/mcp", {
    ...headers,
    "content-length": String(9 * 1024 * 1024),
  }, body);
  assertEquals(refused.status, 413);
});

overHttp("DELETE ends a session and what it does", async (place, daemon) => {
  const session = await McpSession.open(daemon);
  const seconds = `601.${Deno.pid}`;
  const call = await session.post("tools/call", {
    name: "svc.verify.test",
    arguments: longProject(place, seconds),
  });
  await until(() => processesWith(`sleep ${seconds}`).length > 0, "the command");
  assertEquals(await session.end(), 200);
  await call.text();
  await until(() => processesWith(`sleep ${seconds}`).length === 0, "its end");
  const again = await session.post("ping");
  assertEquals([again.status, (await again.json()).error.code], [404, "not_found"]);
});

overHttp("a stream goes on where it broke off", async (place, daemon) => {
  const session = await McpSession.open(daemon);
  const { session_id } = await session.tool("svc.session.start", { workdir: place.mkdir("w") });
  const seen: number[] = [];
  let last: string;
  {
    await using stream = await session.stream();
    await session.tool("svc.session.subscribe", { session_id, since_seq: 0 });
    await session.tool("svc.session.send", { session_id, text: "help" });
    last = (await next(stream, ({ type }) => type === "user.message")).id;
    seen.push(...pushedBy(stream).map(({ seq }) => seq));
  }
  // One turn answers both, or each has its own.
  await session.tool("svc.session.send", { session_id, text: "ls" });
  let last_seq = 0;
  await until(async () => {
    const state = await session.tool("svc.session.get", { session_id });
    last_seq = state.last_seq;
    return state.activity === "idle";
  }, "the end of what was sent");
  await using stream = await session.stream(last);
  await next(stream, ({ seq }) => seq === last_seq);
  seen.push(...pushedBy(stream).map(({ seq }) => seq));
  assertEquals(seen, seen.map((_, n) => n + 1));
});

overHttp("an answer that was missed is had again", async (place, daemon) => {
  const session = await McpSession.open(daemon);
  const call = await session.post("tools/call", {
    name: "svc.verify.test",
    arguments: longProject(place, "0.5"),
  });
  const reader = call.body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  const id = first.match(/^id: (.+)$/m)![1];
  await using stream = await session.stream(id);
  const event = await stream.until("message");
  assertEquals(JSON.parse(event.data!).result.structuredContent.data.exit_code, 0);
  // It was the last of that stream.
  const over = await fetch(`${daemon.url}/mcp`, {
    headers: { ...session.headers, accept: "text/event-stream", "last-event-id": event.id! },
  });
  assertEquals([over.status, (await over.json()).error.code], [410, "ended"]);
});

overHttp(
  "a client that does not read is cut off at what it may leave unread",
  async (place, daemon) => {
    const session = await McpSession.open(daemon);
    const { session_id } = await session.tool("svc.session.start", { workdir: place.mkdir("w") });
    const stream = await session.stream();
    try {
      await session.tool("svc.session.subscribe", { session_id, since_seq: 0 });
      const text = "x".repeat(4_000);
      let sent = 0;
      for (let batches = 0; batches < 12; batches++) {
        const batch = Array.from({ length: 500 }, (_, id) => ({
          jsonrpc: "2.0",
          id,
          method: "cortex.publish",
          params: { session_id, note: { text } },
        }));
        const { json } = await daemon.http("POST", "/v1/rpc", batch);
        assert(json.every(({ result }: Json) => result !== undefined), JSON.stringify(json[0]));
        sent += batch.length;
      }
      const { data } = await next(stream, ({ ended }) => ended === true);
      const pushed = pushedBy(stream).filter(({ type }) => type === "lane.note");
      assertEquals([data.error.code, data.error.details.last_seq], [
        "crash_recovery",
        pushed.at(-1).seq,
      ]);
      assert(pushed.length < sent, `${pushed.length} of ${sent} were kept for it`);
      const seqs = pushedBy(stream).slice(0, -1).map(({ seq }) => seq);
      assertEquals(seqs, seqs.map((_, n) => n + 1));
    } finally {
      await stream[Symbol.asyncDispose]();
    }
  },
);

overHttp("a stop of the daemon ends its streams", async (_place, daemon) => {
  const session = await McpSession.open(daemon);
  const stream = await session.stream();
  const stopped = daemon.stop();
  while ((await stream.next()) !== undefined);
  assertEquals((await stopped).code, 0);
  await stream[Symbol.asyncDispose]();
});
