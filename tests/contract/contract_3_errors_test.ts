import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Place } from "../support/svc.ts";
import { rawHttp } from "../support/raw.ts";
import { startOpenAiServer } from "../support/model_servers.ts";
import { assertHttpError, connect, event, follow, http, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();
const NONE = `sess_${"0".repeat(26)}`;

function section3(name: string, fn: () => void | Promise<void>) {
  row("contract", "3 errors", name, fn);
}

section3("400 validation: a body that is no JSON, no object, or lacks what it needs", async () => {
  for (const text of ["{", "", "[]", "null", '"x"', "7", "{}", '{"workdir":7}']) {
    assertHttpError(await http(it, "POST", "/v1/sessions", { text }), 400, "validation");
  }
  const { session_id } = await it.session();
  for (const text of ["{}", '{"text":""}', '{"text":7}']) {
    const path = `/v1/sessions/${session_id}/messages`;
    assertHttpError(await http(it, "POST", path, { text }), 400, "validation");
  }
});

section3("400 validation: a value outside what is allowed", async () => {
  const workdir = it.workdir();
  const bad = [
    { approval: "sometimes" },
    { budget_usd: -1 },
    { budget_usd: "much" },
    { model: 7 },
    { model: "nobody/no-model" },
    { title: 7 },
    { prompt: 7 },
  ];
  for (const more of bad) {
    const answer = await http(it, "POST", "/v1/sessions", { body: { workdir, ...more } });
    assertHttpError(answer, 400, "validation");
    assertStringIncludes(answer.json.error.message, Object.keys(more)[0]);
  }
});

section3("400 validation: a since_seq or Last-Event-ID that is no number", async () => {
  const { session_id } = await it.session();
  const path = `/v1/sessions/${session_id}/events`;
  for (const value of ["x", "-1", "1.5"]) {
    assertHttpError(await http(it, "GET", `${path}?since_seq=${value}`), 400, "validation");
    const headers = { "last-event-id": value };
    assertHttpError(await http(it, "GET", path, { headers }), 400, "validation");
  }
});

section3('401 unauthenticated and WWW-Authenticate: Bearer realm="svc"', async () => {
  const headers: HeadersInit[] = [
    {},
    { authorization: "Bearer" },
    { authorization: `Bearer ${"0".repeat(64)}` },
    { authorization: `Bearer ${it.token}x` },
    { authorization: `Basic ${btoa(`svc:${it.token}`)}` },
    { authorization: it.token },
    { "x-svc-bearer": it.token },
  ];
  const paths: [string, string][] = [
    ["GET", "/v1/sessions"],
    ["POST", "/v1/sessions"],
    ["GET", `/v1/sessions/${NONE}`],
    ["DELETE", `/v1/sessions/${NONE}`],
    ["POST", `/v1/sessions/${NONE}/messages`],
    ["GET", `/v1/sessions/${NONE}/events`],
    ["POST", "/v1/rpc"],
  ];
  for (const [method, path] of paths) {
    for (const each of headers) {
      const answer = await http(it, method, path, { token: null, headers: each });
      assertHttpError(answer, 401, "unauthenticated");
      assertEquals(answer.headers.get("www-authenticate"), 'Bearer realm="svc"');
    }
  }
});

section3("403 permission_denied: Host and Origin", async () => {
  const authorization = `Bearer ${it.token}`;
  for (
    const headers of [
      { host: "evil.example" },
      { host: `evil.example:${it.port}` },
      { host: `127.0.0.1:${it.port + 1}` },
      { host: `127.0.0.2:${it.port}` },
      { origin: "http://evil.example" },
    ]
  ) {
    const { status, body } = await rawHttp(it.port, "GET", "/v1/sessions", {
      ...headers,
      authorization,
    });
    assertHttpError({ status, text: body, json: JSON.parse(body) }, 403, "permission_denied");
  }
});

section3("404 not_found: no such route, session or approval", async () => {
  const { session_id } = await it.session();
  const asked: [string, string, unknown?][] = [
    ["GET", "/v1/none"],
    ["GET", "/v2/sessions"],
    ["GET", `/v1/sessions/${NONE}`],
    ["DELETE", `/v1/sessions/${NONE}`],
    ["POST", `/v1/sessions/${NONE}/messages`, { text: "x" }],
    ["POST", `/v1/sessions/${NONE}/cancel`],
    ["POST", `/v1/sessions/${NONE}/pause`],
    ["POST", `/v1/sessions/${NONE}/resume`],
    ["GET", `/v1/sessions/${NONE}/events`],
    ["POST", `/v1/sessions/${session_id}/approvals/appr_none`, { decision: "allow" }],
  ];
  for (const [method, path, body] of asked) {
    assertHttpError(await http(it, method, path, { body }), 404, "not_found");
  }
});

section3("405: a known path, another method; Allow names what goes", async () => {
  const { session_id } = await it.session();
  const asked: [string, string, string][] = [
    ["PUT", "/v1/sessions", "POST"],
    ["POST", "/v1/health", "GET"],
    ["DELETE", "/v1/discover", "GET"],
    ["GET", "/v1/rpc", "POST"],
    ["PATCH", `/v1/sessions/${session_id}`, "DELETE"],
    ["GET", `/v1/sessions/${session_id}/pause`, "POST"],
    ["POST", `/v1/sessions/${session_id}/events`, "GET"],
  ];
  for (const [method, path, allowed] of asked) {
    const answer = await http(it, method, path);
    assertHttpError(answer, 405, "method_not_allowed");
    assertStringIncludes(answer.headers.get("allow") ?? "", allowed, `${method} ${path}`);
  }
});

section3("409 conflict: a message to a paused session", async () => {
  const { session_id } = await it.session();
  await http(it, "POST", `/v1/sessions/${session_id}/pause`);
  const path = `/v1/sessions/${session_id}/messages`;
  assertHttpError(await http(it, "POST", path, { body: { text: "ls" } }), 409, "conflict");
});

section3("409 conflict: pausing what is paused, resuming what runs", async () => {
  const { session_id } = await it.session();
  const path = `/v1/sessions/${session_id}`;
  assertHttpError(await http(it, "POST", `${path}/resume`), 409, "conflict");
  await http(it, "POST", `${path}/pause`);
  assertHttpError(await http(it, "POST", `${path}/pause`), 409, "conflict");
});

section3("410 ended: steering a session that has ended", async () => {
  const { session_id } = await it.session();
  const path = `/v1/sessions/${session_id}`;
  await http(it, "DELETE", path);
  assertHttpError(
    await http(it, "POST", `${path}/messages`, { body: { text: "ls" } }),
    410,
    "ended",
  );
  for (const call of ["cancel", "pause", "resume"]) {
    assertHttpError(await http(it, "POST", `${path}/${call}`), 410, "ended");
  }
});

section3("429 budget_exceeded: a message to a session whose budget is used up", async () => {
  const server = startOpenAiServer(() => ({ text: "Done.", usage: { input: 1e6, output: 0 } }), {
    open: true,
  });
  try {
    await using place = new Place();
    place.configure(
      `[models.local]\nkind = "openai-compatible"\nbase_url = "${server.url}"\n` +
        '[prices."local/m"]\ninput = 1\noutput = 1\n',
    );
    const daemon = await place.serve();
    const workdir = place.mkdir("w");
    const body = { workdir, model: "local/m", budget_usd: 0.5 };
    const { session_id } = (await http(daemon, "POST", "/v1/sessions", { body })).json;
    await using client = await connect(daemon);
    await follow(client, session_id);
    await client.turn(session_id, "go");
    const path = `/v1/sessions/${session_id}/messages`;
    const answer = await http(daemon, "POST", path, { body: { text: "on" } });
    assertHttpError(answer, 429, "budget_exceeded");
  } finally {
    await server.close();
  }
});

section3("503 shutting_down and Retry-After, while a turn has its grace", async () => {
  await using place = new Place();
  const daemon = await place.serve();
  await using client = await connect(daemon);
  const workdir = place.mkdir("w");
  const session_id = await client.session({ workdir, approval: "auto" });
  await client.call("session.send", {
    session_id,
    text: "run until [ -e go ]; do sleep 0.1; done",
  });
  await event(client, "session.tool_started");
  const body = { jsonrpc: "2.0", id: 1, method: "daemon.shutdown", params: { grace_s: 30 } };
  assertEquals((await http(daemon, "POST", "/v1/rpc", { body })).status, 200);
  const answer = await http(daemon, "POST", "/v1/sessions", { body: { workdir: place.dir } });
  assertHttpError(answer, 503, "shutting_down");
  assert(Number(answer.headers.get("retry-after")) > 0, "no Retry-After");
  Deno.writeTextFileSync(`${workdir}/go`, "");
  assertEquals((await daemon.ended()).code, 0);
});
