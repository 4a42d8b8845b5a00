/** What the A2A endpoint answers to requests that no well-behaved client sends. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { beforeTests } from "../support/before_tests.ts";
import { Hire, type HireRequest, TOKENS } from "../support/hire.ts";
import { rawHttp } from "../support/raw.ts";
import { can_run_svc, Place } from "../support/svc.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Json = any;

const ignore = !can_run_svc;
const UNKNOWN = "t-01ARZ3NDEKTSV4RRFFQ69G5FAV";

let place: Place;
let hire: Hire;

beforeTests(async () => {
  if (ignore) return;
  place = new Place();
  hire = await Hire.serve(place);
});
Deno.test.afterAll(async () => {
  await hire?.kill();
  await place?.[Symbol.asyncDispose]();
});

function post(request: HireRequest) {
  return hire.request("POST", "/a2a", request);
}

/** A call in the way of version 1.0, unless the members say otherwise. */
function call(method: string, params: Json = {}, members: Json = {}): Json {
  return { jsonrpc: "2.0", id: 7, method, params, ...members };
}

function message(parts: Json, more: Json = {}): Json {
  return { message: { messageId: "m", role: "ROLE_USER", parts, ...more } };
}

function legacy(parts: Json, more: Json = {}): Json {
  return { message: { kind: "message", messageId: "m", role: "user", parts, ...more } };
}

const data = { task_type: "research", query: "x", extra: { urls: ["http://127.0.0.1:9/"] } };
const config = { taskId: UNKNOWN, url: "https://example.org/" };

/** What is sent, which error it is answered with, and a word of its message. */
const REFUSED: [name: string, body: Json, code: number, says: string][] = [
  ["a batch", [call("GetTask")], -32600, "batches"],
  ["a string", "x", -32600, "object"],
  ["null", null, -32600, "object"],
  ["JSON-RPC 1.0", call("GetTask", {}, { jsonrpc: "1.0" }), -32600, "jsonrpc"],
  ["an id that is an object", call("GetTask", {}, { id: {} }), -32600, "id"],
  ["no method", { jsonrpc: "2.0", id: 7 }, -32600, "method"],
  ["an unknown method", call("DropTables"), -32601, "DropTables"],
  ["params that are a list", call("GetTask", []), -32602, "params"],
  ["a task without id", call("GetTask"), -32001, "no task"],
  ["a task that is not there", call("GetTask", { id: UNKNOWN }), -32001, UNKNOWN],
  ["an id out of a path", call("GetTask", { id: "../../state.db" }), -32001, "no task"],
  ["a history that is negative", call("GetTask", { id: UNKNOWN, historyLength: -1 }), -32602, ""],
  ["cancelling what is not there", call("CancelTask", { id: UNKNOWN }), -32001, UNKNOWN],
  ["subscribing to what is not there", call("SubscribeToTask", { id: UNKNOWN }), -32001, UNKNOWN],
  ["resubscribing to it", call("tasks/resubscribe", { id: UNKNOWN }), -32001, UNKNOWN],
  ["no message", call("SendMessage"), -32602, "messageId"],
  [
    "a message without id",
    call("SendMessage", message([{ data }], { messageId: "" })),
    -32602,
    "messageId",
  ],
  ["no parts", call("SendMessage", message([])), -32602, "parts"],
  ["a part that is null", call("SendMessage", message([null])), -32602, "parts"],
  ["parts that are no list", call("SendMessage", message("text")), -32602, "parts"],
  ["an empty part", call("SendMessage", message([{}])), -32602, "text or data"],
  ["data that is a list", call("SendMessage", message([{ data: [] }])), -32602, "object"],
  ["an agent's message", call("SendMessage", message([{ data }], { role: 2 })), -32602, "role"],
  ["a file", call("SendMessage", message([{ raw: "AAAA" }])), -32005, "files"],
  ["an address of a file", call("SendMessage", message([{ url: "file:///x" }])), -32005, "files"],
  ["no skill", call("SendMessage", message([{ data: { query: "x" } }])), -32602, "research, bro"],
  [
    "an unknown skill",
    call("SendStreamingMessage", message([{ data: { ...data, task_type: "fly" } }])),
    -32602,
    "fly",
  ],
  [
    "a skill in the metadata, and nothing else that it needs",
    call("SendMessage", message([{ text: "x" }], { metadata: { skill_id: "browser" } })),
    -32602,
    "extra.url",
  ],
  ["a further message", call("SendMessage", message([{ data }], { taskId: UNKNOWN })), -32001, ""],
  [
    "a context id of a megabyte",
    call("SendMessage", message([{ data }], { contextId: "c".repeat(10_000) })),
    -32602,
    "contextId",
  ],
  ["0.3: no params", call("message/send"), -32602, ""],
  ["0.3: a part of no kind", call("message/send", legacy([{ text: "x" }])), -32602, "kind"],
  [
    "0.3: a file part without file",
    call("message/send", legacy([{ kind: "file" }])),
    -32602,
    "file",
  ],
  ["0.3: a message of nobody", call("message/stream", legacy([], { role: "x" })), -32602, ""],
  ["0.3: a task without id", call("tasks/get"), -32602, "params.id"],
  ["0.3: an id that is a number", call("tasks/cancel", { id: 5 }), -32602, "params.id"],
  [
    "0.3: a push notification config that is not there",
    call("tasks/pushNotificationConfig/set", { taskId: UNKNOWN }),
    -32602,
    "pushNotificationConfig",
  ],
  ["a page of no tasks", call("ListTasks", { pageSize: 0 }), -32602, "pageSize"],
  ["a page token of its own making", call("ListTasks", { pageToken: "' OR 1" }), -32602, "token"],
  ["a time that is none", call("ListTasks", { statusTimestampAfter: "soon" }), -32602, "8601"],
  ["the extended card", call("GetExtendedAgentCard"), -32004, "card"],
  ["a config of an unknown task", call("CreateTaskPushNotificationConfig", config), -32001, ""],
];

for (const [name, body, code, says] of REFUSED) {
  Deno.test({
    name: `${name} is answered with ${code}`,
    ignore,
    async fn() {
      const { status, json, text } = await post({ body });
      assertEquals([status, json?.jsonrpc, json?.error?.code], [200, "2.0", code], text);
      assertStringIncludes(json.error.message, says);
      // Every error repeats the id of its request, if there is one.
      assertEquals(json.id, body?.id === 7 ? 7 : null);
    },
  });
}

Deno.test({
  name: "a push notification config that would write headers of its own is refused",
  ignore,
  async fn() {
    const send = (push: Json) => {
      const configuration = {
        taskPushNotificationConfig: { url: "https://example.org/", ...push },
      };
      return post({ body: call("SendMessage", { ...message([{ data }]), configuration }) });
    };
    for (
      const push of [
        { token: "a\r\nx: y" },
        { authentication: { scheme: "Bearer x", credentials: "" } },
        { authentication: { scheme: "Bearer", credentials: "a\nb" } },
        { authentication: [] },
        { url: "file:///etc/passwd" },
        { url: "http://user:pass@example.org/" },
      ]
    ) {
      const { json, text } = await send(push);
      assertEquals(json.error?.code, -32602, text);
    }
  },
});

Deno.test({
  name: "data that is nested without end costs no more than its request",
  ignore,
  async fn() {
    const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const text = JSON.stringify(call("SendMessage", message([{ data: { task_type: "code" } }])))
      .replace(`"code"`, `"code","query":"x","extra":{"nested":${nested}}`);
    const { json } = await post({ text });
    assertEquals([json.id, json.error.code], [7, -32600]);
    assertStringIncludes(json.error.message, "nested deeper");
    assertEquals((await hire.request("GET", "/api/capabilities")).status, 200);
  },
});

Deno.test({
  name: "versions are told by the header, then by the method; others are refused",
  ignore,
  async fn() {
    const code = async (version: string | undefined, method: string) => {
      const headers: Record<string, string> = version === undefined
        ? {}
        : { "a2a-version": version };
      const { json } = await post({ body: call(method, { id: UNKNOWN }), headers });
      return json.error.code;
    };
    for (
      const [version, method, expected] of [
        [undefined, "GetTask", -32001],
        [undefined, "tasks/get", -32001],
        ["", "tasks/get", -32001],
        ["1.0", "GetTask", -32001],
        ["0.3", "tasks/get", -32001],
        ["0.3.0", "tasks/get", -32001],
        ["1.0", "tasks/get", -32601],
        ["0.3", "GetTask", -32601],
        ["2.0", "GetTask", -32009],
        ["x", "GetTask", -32009],
      ] as const
    ) {
      assertEquals(await code(version, method), expected, `${version} ${method}`);
    }
  },
});

Deno.test({
  name: "an endpoint for one version, and the version in the query",
  ignore,
  async fn() {
    const code = async (path: string, method: string, version?: string) => {
      const headers: Record<string, string> = version === undefined
        ? {}
        : { "a2a-version": version };
      const body = call(method, { id: UNKNOWN });
      const { json } = await hire.request("POST", path, { body, headers });
      return json.error.code;
    };
    for (
      const [path, method, version, expected] of [
        ["/a2a/", "GetTask", undefined, -32001],
        ["/a2a/1.0", "GetTask", undefined, -32001],
        ["/a2a/1.0/", "GetTask", "1.0", -32001],
        ["/a2a/1.0", "tasks/get", undefined, -32601],
        ["/a2a/1.0", "tasks/get", "0.3", -32009],
        ["/a2a/0.3/", "tasks/get", "0.3.0", -32001],
        ["/a2a/0.3", "GetTask", undefined, -32601],
        ["/a2a/0.3", "GetTask", "99.0", -32009],
        ["/a2a?A2A-Version=0.3", "GetTask", undefined, -32601],
        ["/a2a?A2A-Version=99.0", "GetTask", undefined, -32009],
        ["/a2a?A2A-Version=99.0", "GetTask", "1.0", -32001],
      ] as const
    ) {
      assertEquals(await code(path, method, version), expected, `${path} ${method} ${version}`);
    }
    for (const path of ["/a2a/9.9", "/a2a/1.0/x", "/a2a/../api"]) {
      assertEquals((await hire.request("POST", path, { body: call("GetTask") })).status, 404);
    }
  },
});

Deno.test({
  name: "whatever refuses a request, the answer is an error of JSON-RPC with its id",
  ignore,
  async fn() {
    const body = call("GetTask", { id: UNKNOWN }, { id: "x-7" });
    const plain = { "content-type": "text/plain" };
    const wrong = await post({ body, headers: plain });
    assertEquals([wrong.status, wrong.json.id, wrong.json.error.code], [415, "x-7", -32005]);
    assertEquals(wrong.json.error.data[0].reason, "CONTENT_TYPE_NOT_SUPPORTED");
    const coded = await post({ body, headers: { "content-encoding": "gzip" } });
    assertEquals([coded.status, coded.json.id, coded.json.error.code], [415, "x-7", -32005]);
    const unread = await post({ text: "{'id': 1}", headers: plain });
    assertEquals([unread.status, unread.json.id, unread.json.error.code], [415, null, -32005]);
    const unknown = await post({ body, token: "wrong" });
    assertEquals([unknown.status, unknown.json.error.code], [401, -32000]);
    assertStringIncludes(unknown.headers.get("www-authenticate")!, "Bearer");
    const large = await post({ text: " ".repeat(1024 * 1024 + 1) });
    assertEquals([large.status, large.json.id, large.json.error.code], [413, null, -32000]);
    const registered = { "content-type": "application/a2a+json; charset=utf-8" };
    assertEquals((await post({ body, headers: registered })).json.error.code, -32001);
    const version = await post({ body, headers: { "a2a-version": "99.0" } });
    assertEquals(version.json.error.data[0].reason, "VERSION_NOT_SUPPORTED");
  },
});

Deno.test({
  name: "the rules of surface B hold: tokens, type, size, origin, method",
  ignore,
  async fn() {
    const body = call("GetTask", { id: UNKNOWN });
    const status = async (request: HireRequest) => (await post(request)).status;
    const authorization = `Bearer ${TOKENS[1]}`;
    assertEquals(await status({ body, token: null, headers: { authorization } }), 200);
    for (const token of [null, "", "wrong"]) assertEquals(await status({ body, token }), 401);
    for (const authorization of ["Bearer wrong", "Bearer", TOKENS[0], `Basic ${TOKENS[0]}`]) {
      assertEquals(await status({ body, token: null, headers: { authorization } }), 401);
    }
    // Elsewhere surface B takes X-Svc-Bearer only.
    const headers = { authorization };
    const path = `/api/task/${UNKNOWN}`;
    assertEquals((await hire.request("GET", path, { token: null, headers })).status, 401);
    assertEquals(await status({ text: "{}", headers: { "content-type": "text/plain" } }), 415);
    const large = {
      "content-type": "application/json",
      "content-length": String(1024 * 1024 + 1),
      "x-svc-bearer": TOKENS[0],
    };
    assertEquals((await rawHttp(hire.port, "POST", "/a2a", large)).status, 413);
    assertEquals(await status({ body, headers: { origin: "https://evil.example" } }), 403);
    assertEquals((await post({ text: "{" })).json.error.code, -32700);
    const got = await hire.request("GET", "/a2a");
    assertEquals([got.status, got.headers.get("allow")], [405, "POST"]);
    const { stdout } = await place.svc(["task", "list", "--json"]);
    assertEquals(JSON.parse(stdout).tasks, [], "none of these became a task");
    assert((await post({ body })).json.error, "it is still there");
  },
});
