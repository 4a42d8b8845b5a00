/** MCP of revision 2026-07-28, which has no sessions: the SDK's own client against the daemon. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { McpProcess } from "../support/mcp.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

// deno-lint-ignore no-explicit-any -- answers are looked into
type Json = any;

const ignore = !can_run_svc;
const REVISION = "2026-07-28";

/** The SDK's own transport over `svc mcp-serve`. */
async function overStdio(place: Place, mode: "auto" | "pin"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, {
    versionNegotiation: { mode: mode === "auto" ? "auto" : { pin: REVISION } },
  });
  await client.connect(new McpProcess(place) as unknown as Transport);
  return client;
}

interface Options {
  query?: string;
  name?: string;
  /** As applications have it that do not mind the revision. */
  auto?: boolean;
}

async function connect(
  { port, token }: Daemon,
  { query = "", name = "test", auto = false }: Options = {},
): Promise<Client> {
  const client = new Client({ name, version: "1" }, {
    versionNegotiation: { mode: auto ? "auto" : { pin: REVISION } },
  });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp${query}`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  return client;
}

async function data(client: Client, name: string, args: Json = {}): Promise<Json> {
  const { structuredContent } = await client.callTool({ name, arguments: args }) as Json;
  assert(structuredContent.ok, JSON.stringify(structuredContent));
  return structuredContent.data;
}

Deno.test({
  name: "a client of 2026-07-28 finds and uses tools, resources and prompts without a session",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    for (const auto of [false, true]) {
      const client = await connect(daemon, { auto });
      assertEquals(client.getNegotiatedProtocolVersion(), REVISION);
      assertStringIncludes(client.getInstructions()!, "session.start");
      const { tools } = await client.listTools();
      assert(tools.some(({ name }) => name === "svc.session.start"));
      const { session_id } = await data(client, "svc.session.start", {
        workdir: place.mkdir(`w-${auto}`),
        title: "herons",
      });
      assertEquals((await data(client, "svc_session_get", { session_id })).title, "herons");
      const uri = `svc://sessions/${session_id}`;
      const { resources } = await client.listResources();
      assert(resources.some((it) => it.uri === uri));
      const { contents } = await client.readResource({ uri });
      assertStringIncludes(JSON.stringify(contents), "herons");
      const prompt = await client.getPrompt({
        name: "review_session",
        arguments: { session_id },
      });
      assertStringIncludes(JSON.stringify(prompt.messages), session_id);
      const { completion } = await client.complete({
        ref: { type: "ref/prompt", name: "review_session" },
        argument: { name: "session_id", value: session_id.slice(0, 12) },
      });
      assert(completion.values.includes(session_id));

      const wrong = await client.callTool({
        name: "svc.session.get",
        arguments: { session_id: "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV" },
      }) as Json;
      assertEquals([wrong.isError, wrong.structuredContent.error_code], [true, "not_found"]);
      // Nothing can be sent without a request.
      const subscribed = await client.callTool({
        name: "svc.session.subscribe",
        arguments: { session_id },
      }) as Json;
      assertEquals(subscribed.isError, true);
      await assertRejects(
        () => client.callTool({ name: "svc.session.gett", arguments: {} }),
        Error,
        "did you mean svc.session.get",
      );
      await assertRejects(() => client.readResource({ uri: "svc://sessions/none" }));
      await client.close();
    }
  },
});

Deno.test({
  name: "mcp-serve speaks 2026-07-28 too, and goes on with the next daemon",
  ignore,
  async fn() {
    await using place = new Place();
    for (const mode of ["auto", "pin"] as const) {
      const daemon = await place.serve();
      const client = await overStdio(place, mode);
      assertEquals(client.getNegotiatedProtocolVersion(), REVISION);
      assertEquals((await data(client, "svc.daemon.health")).status, "ok");
      await daemon.kill();
      const next = await place.serve();
      assertEquals((await client.listTools()).tools[0].name.startsWith("svc."), true);
      assertEquals((await data(client, "svc_daemon_health")).status, "ok");
      await client.close();
      await next.stop();
    }
  },
});

Deno.test({
  name: "the address and the name of the client choose its tools, in each request",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const core = await connect(daemon, { query: "?toolset=core&caps=read", name: "claude-ai" });
    const { tools } = await core.listTools();
    assert(tools.length > 3 && tools.length < 16);
    assert(tools.every(({ name }) => /^svc_[a-z_]+$/.test(name)));
    const refused = await core.callTool({
      name: "svc_session_start",
      arguments: { workdir: place.mkdir("w") },
    }) as Json;
    assertEquals(refused.structuredContent.error_code, "permission_denied");
    await core.close();
  },
});

Deno.test({
  name: "requests that no well-behaved client sends are refused",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const post = async (message: Json, more: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${daemon.port}/mcp`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${daemon.token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": REVISION,
          ...more,
        },
        body: typeof message === "string" ? message : JSON.stringify(message),
      });
      const text = await response.text();
      return { status: response.status, text, json: text.startsWith("{") ? JSON.parse(text) : {} };
    };
    const meta = (version: string) => ({
      _meta: {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    });
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: meta(REVISION) };
    const method = { "mcp-method": "tools/list" };
    assert((await post(list, method)).json.result.tools.length > 50);

    const later = { ...list, params: meta("2099-01-01") };
    const future = await post(later, { ...method, "mcp-protocol-version": "2099-01-01" });
    assertEquals(future.json.error.data.supported, [REVISION]);
    assert((await post(later, method)).json.error, "the header must say the same as the request");
    assert((await post(list, { "mcp-method": "tools/call" })).json.error);
    assertEquals((await post(list, { ...method, authorization: "Bearer wrong" })).status, 401);
    assertEquals((await post(list, { ...method, origin: "https://evil.example" })).status, 403);
    for (const body of ["{", "[]", "null", '"x"', "[".repeat(100_000)]) {
      const { status, text } = await post(body, method);
      assert(status >= 400 && status < 500, text);
    }
    const padded = (mib: number) => {
      return { ...list, params: { ...meta(REVISION), padding: "x".repeat(mib * 1024 * 1024) } };
    };
    assertEquals((await post(padded(5), method)).status, 200);
    assertEquals((await post(padded(9), method)).status, 413);
    assert((await post(list, method)).json.result, "it is still there");
  },
});
