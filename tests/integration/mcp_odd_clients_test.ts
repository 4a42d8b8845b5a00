/**
 * MCP clients that are not quite as the protocol says: what can be understood is answered, with the
 * id of the request, so that nobody waits. The reports stand beside the cases.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { McpProcess } from "../support/mcp.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

const ignore = !can_run_svc;

// deno-lint-ignore no-explicit-any -- answers are looked into
type Json = any;

function initialize(client = "test") {
  return {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: client, version: "1" },
    },
  };
}

/** Posts a message and reads its answer, as JSON or from an event stream. */
async function post(daemon: Daemon, body: Json, headers: Record<string, string> = {}) {
  const response = await fetch(`${daemon.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${daemon.token}`,
      "content-type": "application/json",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const type = response.headers.get("content-type")?.split(";")[0];
  const data = type === "text/event-stream" ? text.match(/^data: (\{.*)$/m)?.[1] ?? "" : text;
  const answer = data === "" ? undefined : JSON.parse(data);
  return {
    status: response.status,
    type,
    answer,
    session: response.headers.get("mcp-session-id")!,
  };
}

async function open(daemon: Daemon) {
  const { session } = await post(daemon, initialize(), { accept: "*/*" });
  return { "mcp-session-id": session, "mcp-protocol-version": "2025-06-18", accept: "*/*" };
}

/** What clients send as `Accept`, and the type of the answer. */
const ACCEPTS: Record<string, string> = {
  // honojs/middleware#1799: curl, httpx and fetch
  "*/*": "text/event-stream",
  // modelcontextprotocol/python-sdk#2349, ComposioHQ/composio#2152
  "text/event-stream": "text/event-stream",
  // anthropics/claude-code#45368, modelcontextprotocol/typescript-sdk#1944
  "application/json": "application/json",
  "application/*;q=0.9": "application/json",
  "text/event-stream, application/json": "text/event-stream",
};

Deno.test({
  name: "/mcp takes every Accept that can be answered, and refuses the others",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    for (const [accept, type] of Object.entries(ACCEPTS)) {
      const first = await post(daemon, initialize(), { accept });
      assertEquals([first.status, first.type, first.answer.id], [200, type, 0], accept);
      const call = { name: "svc.daemon.health", arguments: {} };
      const next = await post(
        daemon,
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: call },
        {
          accept,
          "mcp-session-id": first.session,
        },
      );
      assertEquals([next.status, next.type, next.answer.id], [200, type, 1], accept);
      assert(next.answer.result !== undefined, JSON.stringify(next.answer));
    }
    assertEquals((await post(daemon, initialize(), { accept: "text/html" })).status, 406);
  },
});

/** Requests, and what is answered; each answer has the id of its request. */
const REQUESTS: [request: Json, answered: (answer: Json) => void][] = [
  [{ method: "tools/list", params: null }, ({ result }) => assert(result.tools.length > 0)],
  [{ method: "tools/list", params: { _meta: null, cursor: null } }, ({ result }) => assert(result)],
  [
    { method: "ping", params: { _meta: { progressToken: { a: 1 } } } },
    ({ result }) => assert(result),
  ],
  [{ method: "ping", params: { _meta: { progressToken: null } } }, ({ result }) => assert(result)],
  // guangxiangdebizi/MySQL_MCP#5: arguments as a text
  [
    { method: "tools/call", params: { name: "svc.daemon.health", arguments: "{}" } },
    ({ error }) => {
      assertEquals(error.code, -32602);
      assertStringIncludes(
        error.message,
        "tools/call: params.arguments: must be an object, not text",
      );
    },
  ],
  // MemPalace/mempalace#1574, Ataraxy-Labs/sem#182
  [{ method: "tools/call", params: {} }, ({ error }) => {
    assertEquals(error.code, -32602);
    assertStringIncludes(error.message, "tools/call: params.name: is required");
  }],
  [{ method: "resources/read" }, ({ error }) => assertEquals(error.code, -32602)],
  [{ method: "prompts/get", params: { name: 7 } }, ({ error }) => assertEquals(error.code, -32602)],
  [{ method: "no/such" }, ({ error }) => assertEquals(error.code, -32601)],
  [{ jsonrpc: "1.0", method: "ping" }, ({ error }) => assertEquals(error.code, -32600)],
];

Deno.test({
  name: "odd requests over HTTP are answered with their id and a clear sentence",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const headers = await open(daemon);
    for (const [n, [request, answered]] of REQUESTS.entries()) {
      const { answer } = await post(daemon, { jsonrpc: "2.0", id: n + 10, ...request }, headers);
      assertEquals(answer.id, n + 10, JSON.stringify(request));
      assert(!JSON.stringify(answer.error ?? {}).includes("\\n"), "no dump of a library");
      answered(answer);
    }
    const broken = await post(daemon, "{", headers);
    assertEquals([broken.status, broken.answer.error.code], [400, -32700]);
  },
});

Deno.test({
  name: "odd requests of svc mcp-serve are answered with their id and a clear sentence",
  ignore,
  async fn() {
    await using place = new Place();
    await place.serve();
    const process = new McpProcess(place);
    const answers = new Map<number, Json>();
    process.onmessage = (message: Json) => void answers.set(message.id, message);
    await process.start();
    await process.write(`${JSON.stringify(initialize())}\n`);
    for (const [n, [request]] of REQUESTS.entries()) {
      await process.write(`${JSON.stringify({ jsonrpc: "2.0", id: n + 10, ...request })}\n`);
    }
    await until(() => answers.size === REQUESTS.length + 1, "all answers");
    for (const [n, [, answered]] of REQUESTS.entries()) answered(answers.get(n + 10));
    assertEquals((await process.end()).code, 0);
  },
});

Deno.test({
  name: "the instructions name the tools as the client is offered them",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    // The second one passes names to providers that refuse dots.
    for (const client of ["test", "claude-ai"]) {
      const { answer, session } = await post(daemon, initialize(client));
      const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const { answer: listed } = await post(daemon, list, { "mcp-session-id": session });
      const offered: string[] = listed.result.tools.map(({ name }: Json) => name);
      const named = answer.result.instructions.match(/\b(svc[._])?session[._][a-z]+/g)!;
      assert(named.length >= 4, answer.result.instructions);
      for (const name of named) assert(offered.includes(name), `${client}: ${name}`);
    }
  },
});
