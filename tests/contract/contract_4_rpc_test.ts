import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { delay } from "@std/async";
import { Place } from "../support/svc.ts";
import { startHttpToolServer } from "../support/tool_server_http.ts";
import { httpEntry, policyOf } from "../support/tool_servers.ts";
import { type Json, JsonRpc, SocketClient, WsClient } from "./client.ts";
import { assertRpcError, connect, event, follow, http, journalOf, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();
const NONE = `sess_${"0".repeat(26)}`;

function section4(name: string, fn: () => void | Promise<void>) {
  row("contract", "4 JSON-RPC", name, fn);
}

/** One text over each way in; what comes back first, or undefined when, `silent`, nothing does. */
const WAYS: Record<string, (text: string, silent?: boolean) => Promise<Json>> = {
  socket: async (text, silent) => {
    await using client = await SocketClient.connect(it.sock);
    return await firstAnswer(client, text, silent);
  },
  WebSocket: async (text, silent) => {
    await using client = await WsClient.connect(it.port, it.token);
    return await firstAnswer(client, text, silent);
  },
  "/v1/rpc": async (text) => (await http(it, "POST", "/v1/rpc", { text })).json,
};

async function firstAnswer(client: JsonRpc, text: string, silent = false): Promise<Json> {
  await client.send(text);
  if (!silent) return await client.message(() => true, "an answer");
  // What follows is answered after it, so nothing came for the first if this comes first.
  const probe = '{"jsonrpc":"2.0","id":"probe","method":"daemon.health"}';
  await delay(50);
  await client.send(probe);
  const first = await client.message(() => true, "an answer");
  return first.id === "probe" ? undefined : first;
}

const asked = (id: unknown, more: Json = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "daemon.health", ...more });

for (const [way, ask] of Object.entries(WAYS)) {
  section4(`${way}: ids are echoed as they came`, async () => {
    for (const id of [0, 1, -7, 1.5, 2 ** 40, "x", "", "ä\n", null]) {
      const answer = await ask(asked(id));
      assertEquals([answer.jsonrpc, answer.id, answer.result?.status], ["2.0", id, "ok"]);
    }
    // A number that no double holds.
    const text = asked(0).replace('"id":0', '"id":"12345678901234567890"');
    assertEquals((await ask(text)).id, "12345678901234567890");
  });

  section4(`${way}: notifications are never answered, not even wrong ones`, async () => {
    for (const method of ["daemon.health", "no.such", "session.get"]) {
      const text = JSON.stringify({ jsonrpc: "2.0", method, params: {} });
      assertEquals(await ask(text, true), undefined);
    }
    const two = ["daemon.health", "no.such"].map((method) => ({ jsonrpc: "2.0", method }));
    assertEquals(await ask(JSON.stringify(two), true), undefined);
  });

  section4(`${way}: a batch is answered as an array, without its notifications`, async () => {
    const batch = [
      { jsonrpc: "2.0", id: 1, method: "daemon.health" },
      { jsonrpc: "2.0", method: "daemon.health" },
      { jsonrpc: "2.0", id: "b", method: "no.such" },
      7,
    ];
    const answers: Json[] = await ask(JSON.stringify(batch));
    assertEquals(answers.length, 3);
    const by = (id: unknown) => answers.find((answer) => answer.id === id);
    assertEquals(by(1).result.status, "ok");
    assertEquals([by("b").error.code, by(null).error.code], [-32601, -32600]);
  });

  section4(`${way}: an empty batch is -32600`, async () => {
    const answer = await ask("[]");
    assertEquals([answer.id, answer.error.code], [null, -32600]);
  });

  section4(`${way}: -32700 for what is no JSON`, async () => {
    for (const text of ["{", '{"jsonrpc":"2.0",', "nonsense", '[{"jsonrpc":"2.0"']) {
      const answer = await ask(text);
      assertEquals([answer.id, answer.error?.code], [null, -32700], text);
    }
  });

  section4(`${way}: -32600 for what is no request`, async () => {
    for (
      const text of [
        "7",
        '"x"',
        "null",
        '{"id":1,"method":"daemon.health"}',
        '{"jsonrpc":"1.0","id":1,"method":"daemon.health"}',
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":1,"method":7}',
        '{"jsonrpc":"2.0","id":1,"method":"daemon.health","params":"x"}',
        '{"jsonrpc":"2.0","id":{},"method":"daemon.health"}',
        '{"jsonrpc":"2.0","id":[1],"method":"daemon.health"}',
        '{"jsonrpc":"2.0","id":true,"method":"daemon.health"}',
      ]
    ) assertEquals((await ask(text))?.error?.code, -32600, text);
  });

  section4(`${way}: -32601 for an unknown method`, async () => {
    for (const method of ["no.such", "", "rpc.discover", "constructor", "__proto__", "session"]) {
      assertEquals((await ask(asked(1, { method }))).error?.code, -32601, method);
    }
  });

  section4(`${way}: -32602 for wrong params, naming them`, async () => {
    for (
      const [method, params, named] of [
        ["session.get", {}, "session_id"],
        ["session.get", { session_id: 7 }, "session_id"],
        ["session.send", { session_id: NONE }, "text"],
        ["cost.get_history", { bucket: "year" }, "bucket"],
        ["ledger.list_events", { limit: 1001 }, "limit"],
      ]
    ) {
      const { error } = await ask(asked(1, { method, params }));
      assertEquals(error?.code, -32602, JSON.stringify(error));
      assert(JSON.stringify(error).includes(named as string), JSON.stringify(error));
    }
  });
}

section4("the standard errors carry data.svc_code too", async () => {
  await using client = await connect(it);
  for (const [method, params] of [["no.such", {}], ["session.get", {}]] as const) {
    assertEquals(typeof (await client.fails(method, params)).data?.svc_code, "string", method);
  }
});

section4("push: $/event, params {sub, session_id, seq, at, type, data}", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  const sub = await follow(client, session_id);
  await event(client, "lane.created");
  const pushed = client.messages.filter((message) => message.method !== undefined);
  for (const message of pushed) {
    assertEquals(Object.keys(message).sort(), ["jsonrpc", "method", "params"]);
    assertEquals([message.jsonrpc, message.method], ["2.0", "$/event"]);
    assertEquals(Object.keys(message.params).sort(), [
      "at",
      "data",
      "seq",
      "session_id",
      "sub",
      "type",
    ]);
    assertEquals([message.params.sub, message.params.session_id], [sub, session_id]);
    assertMatch(message.params.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
});

section4("-32001 validation", async () => {
  await using client = await connect(it);
  const error = await client.fails("session.start", { workdir: "not/absolute" });
  assertRpcError(error, -32001, "validation");
});

section4("-32002 not_found", async () => {
  await using client = await connect(it);
  for (
    const [method, params] of [
      ["session.get", { session_id: NONE }],
      ["session.send", { session_id: NONE, text: "x" }],
      ["session.subscribe", { session_id: NONE }],
      ["lanes.list", { session_id: NONE }],
      ["ledger.get_node", { hash: "0".repeat(64) }],
      ["cost.get_current", { session_id: NONE }],
      ["descent.current_tier", { session_id: NONE }],
    ] as const
  ) assertRpcError(await client.fails(method, params), -32002, "not_found");
});

section4("-32003 conflict", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  await client.call("session.pause", { session_id });
  const error = await client.fails("session.send", { session_id, text: "ls" });
  assertRpcError(error, -32003, "conflict");
});

section4("-32006 budget_exceeded: a message to a session whose budget is used up", async () => {
  // Without prices nothing costs: the scripted model of the HTTP row is needed for a real sum.
  const { startOpenAiServer } = await import("../support/model_servers.ts");
  const server = startOpenAiServer(() => ({ text: "Done.", usage: { input: 1e6, output: 0 } }), {
    open: true,
  });
  try {
    await using place = new Place();
    place.configure(
      `[models.local]\nkind = "openai-compatible"\nbase_url = "${server.url}"\n` +
        '[prices."local/m"]\ninput = 1\noutput = 1\n',
    );
    await using client = await connect(await place.serve());
    const workdir = place.mkdir("w");
    const session_id = await client.session({ workdir, model: "local/m", budget_usd: 0.5 });
    await client.turn(session_id, "go");
    const error = await client.fails("session.send", { session_id, text: "on" });
    assertRpcError(error, -32006, "budget_exceeded");
  } finally {
    await server.close();
  }
});

section4("-32007 timeout: a tool of a tool server that does not answer in time", async () => {
  await using http = startHttpToolServer();
  await using place = new Place();
  place.setPolicy(policyOf(httpEntry("web", http.url, { timeout: "1s" })));
  const daemon = await place.serve();
  {
    await using client = await connect(daemon);
    const error = await client.fails("mcp.call_tool", { server: "web", tool: "hang" });
    assertRpcError(error, -32007, "timeout");
  }
});

section4("-32009 schema_version: a session whose journal has a newer v", async () => {
  await using place = new Place();
  const first = await place.serve();
  const workdir = place.mkdir("w");
  const { session_id } = (await http(first, "POST", "/v1/sessions", { body: { workdir } })).json;
  await first.stop();
  const path = journalOf(workdir, session_id);
  Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replaceAll('{"v":1,', '{"v":2,'));
  await using client = await connect(await place.serve());
  const error = await client.fails("session.send", { session_id, text: "ls" });
  assertRpcError(error, -32009, "schema_version");
});

section4(
  "one dispatcher: what the socket did shows over HTTP, WebSocket and svc ctl call",
  async () => {
    await using socket = await connect(it);
    const { session_id } = await socket.call("session.start", { workdir: it.workdir() });
    await using ws = await WsClient.connect(it.port, it.token, { more: ["svc.proto.v1"] });
    assertEquals((await ws.call("session.get", { session_id })).id, session_id);
    const body = { jsonrpc: "2.0", id: 1, method: "session.get", params: { session_id } };
    assertEquals((await http(it, "POST", "/v1/rpc", { body })).json.result.id, session_id);
    const args = ["ctl", "call", "session.get", JSON.stringify({ session_id })];
    const { code, stdout } = await it.place.svc(args);
    assertEquals([code, JSON.parse(stdout).id], [0, session_id]);
  },
);

section4("svc ctl call: an error of the method is exit 1, said on stderr", async () => {
  const args = ["ctl", "call", "session.get", JSON.stringify({ session_id: NONE })];
  const { code, stderr, stdout } = await it.place.svc(args);
  assertEquals(code, 1);
  assert(stderr.includes(NONE) && stdout === "", `${stdout} ${stderr}`);
});

section4("a secret never appears in a result or a log: the bearer token", async () => {
  await using client = await connect(it);
  for (const method of ["daemon.info", "daemon.health", "session.list"]) {
    assert(!JSON.stringify(await client.call(method)).includes(it.token), method);
  }
  const log = Deno.readTextFileSync(join(it.place.home, "log", "daemon.ndjson"));
  assert(!log.includes(it.token));
});
