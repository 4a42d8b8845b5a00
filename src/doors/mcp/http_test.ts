import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { bind, Dispatcher, verbsOf } from "../../verbs/define.ts";
import { Catalogs } from "./catalog.ts";
import { McpHttp, type McpHttpOptions } from "./http.ts";

const large = verbsOf<unknown>()({
  name: "test.large",
  summary: "Answers two million characters.",
  access: "read",
  input: () => z.object({}),
  output: () => z.object({ text: z.string() }),
  handle: () => ({ text: "x".repeat(1_000_000) }),
});

class Endpoint implements AsyncDisposable {
  readonly http: McpHttp;

  constructor(options: Partial<McpHttpOptions> = {}) {
    const dispatcher = new Dispatcher(bind([large], undefined));
    const catalogs = new Catalogs(dispatcher.verbs);
    this.http = new McpHttp({
      dispatcher,
      catalogs,
      body_max: 1_000_000,
      ...options,
    });
  }

  request(method: string, session?: string, body?: unknown): Promise<Response> {
    return this.http.handle(
      new Request("http://127.0.0.1/mcp", {
        method,
        headers: {
          accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
          "content-type": "application/json",
          ...(session === undefined ? {} : { "mcp-session-id": session }),
        },
        body: body === undefined ? undefined : JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }),
      }),
    );
  }

  async open(): Promise<string> {
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const response = await this.request("POST", undefined, { method: "initialize", params });
    await response.text();
    return response.headers.get("mcp-session-id")!;
  }

  call(session: string): Promise<Response> {
    const params = { name: "svc.test.large", arguments: {} };
    return this.request("POST", session, { method: "tools/call", params });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http.close();
  }
}

async function code(work: () => Promise<unknown>): Promise<string> {
  return (await assertRejects(work, SvcError)).code;
}

Deno.test("a new session takes the place of the one that was idle longest", async () => {
  await using endpoint = new Endpoint({ sessions_max: 2 });
  const [first, second] = [await endpoint.open(), await endpoint.open()];
  await (await endpoint.request("POST", first, { method: "ping" })).text();
  const third = await endpoint.open();
  assertEquals(endpoint.http.size, 2);
  assertEquals(await code(() => endpoint.request("POST", second, { method: "ping" })), "not_found");
  for (const session of [first, third]) {
    const response = await endpoint.request("POST", session, { method: "ping" });
    assert((await response.text()).includes('"result":{}'));
  }
});

Deno.test("no session is ended for another while it listens", async () => {
  await using endpoint = new Endpoint({ sessions_max: 1 });
  const first = await endpoint.open();
  const stream = await endpoint.request("GET", first);
  assertEquals(await code(() => endpoint.open()), "conflict");
  await stream.body!.cancel();
  assert(await endpoint.open() !== first);
});

Deno.test("what is no initialize opens no session", async () => {
  await using endpoint = new Endpoint();
  const response = await endpoint.request("POST", undefined, { method: "ping" });
  assertEquals(response.status, 400);
  assertEquals(endpoint.http.size, 0);
});

Deno.test("an idle session ends by itself, one that listens does not", async () => {
  await using endpoint = new Endpoint({ idle_ms: 3_000 });
  const listening = await endpoint.open();
  const stream = await endpoint.request("GET", listening);
  await endpoint.open();
  for (let n = 0; n < 1_500 && endpoint.http.size > 1; n++) await delay(20);
  assertEquals(endpoint.http.size, 1);
  const response = await endpoint.request("POST", listening, { method: "ping" });
  assertEquals(response.status, 200);
  await response.text();
  await stream.body!.cancel();
});

Deno.test("who leaves answers unread is answered no more until they are read", async () => {
  await using endpoint = new Endpoint();
  const session = await endpoint.open();
  const unread: Response[] = [];
  const refused = await assertRejects(async () => {
    for (let n = 0; n < 40; n++) {
      unread.push(await endpoint.call(session));
      // Its answer is written within a few turns of the event loop.
      await delay(5);
    }
  }, SvcError);
  assertEquals(refused.code, "budget_exceeded");
  for (const response of unread) {
    assert((await response.text()).length > 2_000_000);
  }
  await (await endpoint.call(session)).text();
});
