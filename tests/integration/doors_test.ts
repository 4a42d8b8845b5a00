/** What no door may do, as tables: each rule is the verb's, and is tried over every door. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { RpcClient } from "../../src/client/rpc.ts";
import { hireVerbs } from "../../src/features/hire/verbs.ts";
import { VERBS } from "../../src/features/registry.ts";
import { SocketClient, WsClient } from "../contract/client.ts";
import { Hire, TOKENS } from "../support/hire.ts";
import { McpClient } from "../support/mcp.ts";
import { rawHttp } from "../support/raw.ts";
import { can_run_svc, Place, type PlainRpc } from "../support/svc.ts";
import { World } from "../support/verb_samples.ts";

const ignore = !can_run_svc;
// deno-lint-ignore no-explicit-any -- answers are looked into
type Json = any;

/** What a door says to a call: its result, or what it was refused with. */
type Said = { data: Json } | { refused: string };

/** A door of the person. */
interface Door {
  name: string;
  /** Its name in journals. */
  via: string;
  call(verb: string, params: Json): Promise<Said>;
}

const JSON_TYPE = { "content-type": "application/json" };

/** A daemon with the doors of the person, and those of hirers beside them. */
class House implements AsyncDisposable {
  readonly doors: Door[] = [];
  readonly place = new Place();
  hire!: Hire;
  record!: { port: number; token: string; sock: string };
  /** The connection that is none of the doors'. */
  other!: SocketClient;
  readonly #opened = new AsyncDisposableStack();

  static async open(): Promise<House> {
    const house = new House();
    house.#opened.use(house.place);
    house.hire = house.#opened.use(await Hire.serve(house.place));
    house.record = house.place.discovery();
    const { port, token, sock } = house.record;
    house.other = house.#opened.use(await SocketClient.connect(sock));
    const socket = house.#opened.use(await SocketClient.connect(sock));
    const web_socket = house.#opened.use(await WsClient.connect(port, token));
    const mcp = house.#opened.use(await McpClient.http(house.record));
    const stdio = house.#opened.use(await McpClient.stdio(house.place));
    house.doors.push(
      { name: "local socket", via: "socket", call: overRpc((request) => socket.ask(request)) },
      { name: "WebSocket", via: "websocket", call: overRpc((request) => web_socket.ask(request)) },
      { name: "POST /v1/rpc", via: "http", call: overRpc((request) => house.#post(request)) },
      { name: "svc ctl call", via: "socket", call: (...asked) => house.#ctl(...asked) },
      { name: "MCP over HTTP", via: "mcp", call: overMcp(mcp) },
      { name: "MCP over stdio", via: "mcp", call: overMcp(stdio) },
    );
    return house;
  }

  async #post(request: Json): Promise<Json> {
    const { port, token } = this.record;
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...request });
    return JSON.parse((await rawHttp(port, "POST", "/v1/rpc", headers, body)).body);
  }

  async #ctl(verb: string, params: Json): Promise<Said> {
    const { code, stdout, stderr } = await this.place.svc([
      "ctl",
      "call",
      verb,
      JSON.stringify(params),
    ]);
    return code === 0 ? { data: JSON.parse(stdout) } : { refused: stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
  }
}

function overRpc(ask: (request: Json) => Promise<Json>): Door["call"] {
  return async (method, params) => {
    const { result, error } = await ask({ method, params });
    return error === undefined ? { data: result } : { refused: error.message };
  };
}

function overMcp(client: McpClient): Door["call"] {
  return async (verb, params) => {
    try {
      const { structuredContent } = await client.call(`svc.${verb}`, params);
      const { ok, data, error_message } = structuredContent;
      return ok ? { data } : { refused: error_message };
    } catch (error) {
      return { refused: (error as Error).message };
    }
  };
}

interface Rule {
  no_door_may: string;
  verb: string;
  params(house: House, world: World): Json | Promise<Json>;
  /** Where it is refused, by the names of the doors in journals; everywhere by default. */
  at?: readonly string[];
  refused: RegExp;
}

const RULES: readonly Rule[] = [
  ...hireVerbs.map(({ name }): Rule => ({
    no_door_may: `run ${name}, which is for hirers`,
    verb: name,
    params: () => ({ task_id: "t-01ARZ3NDEKTSV4RRFFQ69G5FAV", limit: 1, key_id: "", request: {} }),
    refused: /unknown method|there is no tool/,
  })),
  {
    no_door_may: "end a subscription of another connection",
    verb: "session.unsubscribe",
    async params({ other }, world) {
      const session_id = await world.session();
      return { sub: (await other.call("session.subscribe", { session_id })).sub };
    },
    refused: /this connection has no subscription/,
  },
  {
    no_door_may: "subscribe where nothing can be pushed",
    verb: "session.subscribe",
    params: async (_house, world) => ({ session_id: await world.session() }),
    at: ["http"],
    refused: /this transport cannot push events/,
  },
  {
    no_door_may: "allow a call that was shown to nobody",
    verb: "session.approve",
    params: async (_house, world) => ({ ...await world.waiting(), decision: "allow" }),
    at: ["mcp"],
    refused: /show this to the person first/,
  },
  {
    no_door_may: "run a command without a question where a model may ask",
    verb: "session.send",
    params: async (_house, world) => ({
      session_id: await world.session(),
      text: "true",
      run: true,
    }),
    at: ["mcp"],
    refused: /only a person runs a command/,
  },
  {
    no_door_may: "save the key of a provider where a model may ask",
    verb: "models.save_key",
    params: () => ({ provider: "together", key: "sk-sample", test: false }),
    at: ["mcp"],
    refused: /only a person saves a key/,
  },
  {
    no_door_may: "add a tool server where a model may ask",
    verb: "mcp.save_server",
    params: async (_house, world) => await world.newServer(),
    at: ["mcp"],
    refused: /only a person changes the tool servers/,
  },
  {
    no_door_may: "remove a tool server where a model may ask",
    verb: "mcp.remove_server",
    async params(_house, world) {
      const added = await world.newServer();
      const { revision } = await world.rpc.call("mcp.save_server", added);
      return { revision, name: added.server.name };
    },
    at: ["mcp"],
    refused: /only a person changes the tool servers/,
  },
  {
    no_door_may: "log out at a tool server where a model may ask",
    verb: "mcp.logout",
    params: () => ({ name: "none" }),
    at: ["mcp"],
    refused: /only a person logs in at tool servers/,
  },
  {
    no_door_may: "commit in the person's name where a model may ask",
    verb: "repository.commit",
    params: async (_house, world) => ({
      session_id: await world.session({ workdir: await world.repository() }),
      message: "By a model",
    }),
    at: ["mcp"],
    refused: /only a person commits in their name/,
  },
  {
    no_door_may: "attach as the terminal of a session",
    verb: "tui.attach",
    params: async (_house, world) => ({ session_id: await world.session() }),
    at: ["mcp", "http"],
    refused: /there is no tool|this transport cannot push events/,
  },
];

Deno.test({
  name: "what no door of the person may do is refused at each of them",
  ignore,
  async fn(t) {
    await using house = await House.open();
    const { sock } = house.record;
    const rpc: PlainRpc = new RpcClient(await Deno.connect({ transport: "unix", path: sock }));
    using world = new World(house.place, rpc);
    for (const { no_door_may, verb, params, at, refused } of RULES) {
      await t.step(no_door_may, async () => {
        for (const { name, via, call } of house.doors) {
          const said = await call(verb, await params(house, world));
          if (at?.includes(via) ?? true) {
            assertMatch("refused" in said ? said.refused : "", refused);
          } else assertEquals("data" in said, true, `${name}: ${JSON.stringify(said)}`);
        }
      });
    }
    await t.step("say that another door decided", async () => {
      for (const { name, via, call } of house.doors) {
        const { session_id, approval_id } = await world.waiting();
        const claims = { via: "tui", key_id: "k", by: "tui", caller: { via: "tui" } };
        await call("session.approve", { session_id, approval_id, decision: "deny", ...claims });
        const { events } = await rpc.call("session.history", { session_id });
        const resolved = events.find(({ type }: Json) => type === "approval.resolved");
        assertEquals(resolved?.data.by, via, name);
      }
    });
    await t.step("refuse parameters without plain words", async () => {
      const plain = "session.start: budget_usd: must be a number above 0, not text; " +
        "approval: must be one of auto, workspace, ask, read_only; title: must be text, not a number";
      for (const { name, call } of house.doors) {
        const asked = { workdir: "/", title: 4, budget_usd: "x", approval: "no" };
        const said = await call("session.start", asked);
        assert(
          "refused" in said && said.refused.includes(plain),
          `${name}: ${JSON.stringify(said)}`,
        );
      }
    });
    await t.step("give a model the token", async () => {
      for (const { name, via, call } of house.doors) {
        const said = await call("daemon.discover", {}) as { data: Json };
        assertEquals(said.data.token === house.record.token, via !== "mcp", name);
      }
    });
    rpc.close();
    await rpc.closed;
  },
});

const TASK = "t-01ARZ3NDEKTSV4RRFFQ69G5FAV";
const SESSION = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV";
const CALL = '{"jsonrpc":"2.0","id":1,"method":"daemon.info"}';

/** Every way in that needs the person's token. */
const OF_PERSON: readonly [method: string, path: string][] = [
  ...VERBS.flatMap(({ rest }): [string, string][] =>
    rest === undefined || rest.public
      ? []
      : [[rest.method, rest.path.replace(":session_id", SESSION).replace(":task_id", TASK)]]
  ),
  ["GET", `/v1/sessions/${SESSION}/events`],
  ["POST", "/v1/rpc"],
  ["POST", "/mcp"],
  ["GET", "/mcp"],
  ["DELETE", "/mcp"],
];

/** Every way in that needs a hirer's token. */
const OF_HIRERS: readonly [method: string, path: string][] = [
  ["POST", "/api/task"],
  ["GET", `/api/task/${TASK}`],
  ["POST", `/api/task/${TASK}/cancel`],
  ["GET", `/api/task/${TASK}/events`],
  ["GET", `/api/task/${TASK}/artifacts/a.txt`],
  ["POST", "/a2a"],
  ["POST", "/a2a/1.0"],
  ["POST", "/a2a/0.3"],
];

Deno.test({
  name: "no door answers without its own token, or takes the token of another door",
  ignore,
  async fn() {
    await using house = await House.open();
    const { record: { token: persons, port: persons_port }, hire } = house;
    const sides = [
      { port: persons_port, ways: OF_PERSON, others: TOKENS },
      { port: hire.port, ways: OF_HIRERS, others: [persons] },
    ];
    for (const { port, ways, others } of sides) {
      for (const [method, path] of ways) {
        for (const token of [undefined, ...others]) {
          const headers = { ...JSON_TYPE, authorization: token && `Bearer ${token}` };
          const sent = { ...headers, "x-svc-bearer": token };
          const body = method === "POST" ? CALL : "";
          const { status } = await rawHttp(port, method, path, sent, body);
          assertEquals(status, 401, `${method} ${path} with ${token}`);
        }
      }
    }
    for (const token of TOKENS) {
      const refused = await WsClient.connect(persons_port, token).then(() => "", String);
      assertMatch(refused, /the WebSocket was refused/);
    }
  },
});

/** What a hirer asks about a task, over each protocol. */
const ASKS: readonly [
  what: string,
  ask: (hire: Hire, id: string, token: string) => Promise<Said>,
][] = [
  ...[
    ["GET", ""],
    ["GET", "/events"],
    ["POST", "/cancel"],
    ["GET", "/artifacts/none.txt"],
  ].map(([method, tail]): typeof ASKS[number] => [
    `${method} /api/task/{id}${tail}`,
    async (hire, id, token) => {
      const { status, text } = await hire.request(method, `/api/task/${id}${tail}`, { token });
      return status === 404 ? { refused: text } : { data: status };
    },
  ]),
  ...[
    "GetTask",
    "CancelTask",
    "SubscribeToTask",
    "ListTaskPushNotificationConfigs",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/list",
  ].map((method): typeof ASKS[number] => [
    `A2A ${method}`,
    async (hire, id, token) => {
      const params = { id, taskId: id };
      const body = { jsonrpc: "2.0", id: 1, method, params };
      const { json } = await hire.request("POST", "/a2a", { body, token });
      return json?.error?.code === -32001 ? { refused: json.error.message } : { data: json };
    },
  ]),
];

Deno.test({
  name: "no door of hirers shows a task to another hirer, nor one of the person",
  ignore,
  async fn(t) {
    await using house = await House.open();
    const { hire, other } = house;
    const [first, second] = TOKENS;
    const request = { task_type: "research", query: "x", extra: { urls: ["http://127.0.0.1:9/"] } };
    const parts = [{ data: request }];
    const message = { messageId: "m", role: "ROLE_USER", parts };
    const configuration = { returnImmediately: true };
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "SendMessage",
      params: { message, configuration },
    };
    const sent = await hire.request("POST", "/a2a", { body, token: first });
    const hired = sent.json.result.task.id;
    const own = (await other.call("queue.enqueue", request)).id;
    for (const [what, ask] of ASKS) {
      await t.step(what, async () => {
        const of_second = await ask(hire, hired, second);
        const of_nobody = await ask(hire, TASK, second);
        // Nobody learns that there is such a task.
        const named = (said: Said) => JSON.stringify(said).replaceAll(/t-[0-9A-Z]{26}/g, "ID");
        assertEquals([named(of_second), "refused" in of_second], [named(of_nobody), true]);
        assertEquals("refused" in await ask(hire, own, first), true);
        if (!what.includes("artifacts")) {
          assertEquals("data" in await ask(hire, hired, first), true);
        }
      });
    }
    const list = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: {} };
    const listed = async (token: string) =>
      (await hire.request("POST", "/a2a", { body: list, token })).json.result.tasks
        .map(({ id }: Json) => id);
    assertEquals([await listed(first), await listed(second)], [[hired], []]);
  },
});

Deno.test({
  name: "no door of hirers knows a verb of the person",
  ignore,
  async fn() {
    await using house = await House.open();
    const persons = new Set(VERBS.map(({ name }) => name));
    assertEquals(hireVerbs.filter(({ name }) => persons.has(name)), []);
    for (const method of persons) {
      const body = { jsonrpc: "2.0", id: 1, method, params: {} };
      const { json } = await house.hire.request("POST", "/a2a", { body });
      assertEquals(json.error?.code, -32601, method);
    }
  },
});

Deno.test({
  name: "no door reads more of a request than it may",
  ignore,
  async fn() {
    await using house = await House.open();
    const { record: { port, token }, hire } = house;
    const rows: [port: number, path: string, token: string, max: number][] = [
      [port, "/v1/sessions", token, 8],
      [port, "/v1/rpc", token, 8],
      [port, "/mcp", token, 8],
      [hire.port, "/api/task", TOKENS[0], 1],
      [hire.port, "/a2a", TOKENS[0], 1],
    ];
    for (const [port, path, token, max] of rows) {
      const headers = { ...JSON_TYPE, authorization: `Bearer ${token}`, "x-svc-bearer": token };
      const large = `"${"x".repeat(max * 1024 * 1024)}"`;
      const { status } = await rawHttp(port, "POST", path, headers, large);
      assertEquals(status, 413, path);
    }
    const socket = await SocketClient.connect(house.record.sock);
    await socket.send(`"${"x".repeat(8 * 1024 * 1024)}"`);
    const { error } = await socket.message(() => true);
    assertEquals(error.data.svc_code, "payload_too_large");
    await socket.closed;
    const web_socket = await WsClient.connect(port, token);
    await web_socket.send("x".repeat(8 * 1024 * 1024 + 1));
    await web_socket.closed;
    assertEquals(web_socket.ending?.code, 1009);
  },
});
