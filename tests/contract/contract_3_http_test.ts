import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  connect,
  event,
  follow,
  http,
  keys,
  of,
  SESSION,
  Shared,
  sse,
  STAMP,
} from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

function section3(name: string, fn: () => void | Promise<void>) {
  row("contract", "3 HTTP", name, fn);
}

/** What a session looks like in a list, without the fields that it may lack. */
const ITEM = [
  "activity",
  "approval",
  "id",
  "lanes",
  "last_seq",
  "model",
  "started_at",
  "state",
  "title",
  "workdir",
];

section3(
  "POST /v1/sessions {workdir}: 201, session_id, workdir, started_at, Location",
  async () => {
    const workdir = it.workdir();
    const { status, json, headers } = await http(it, "POST", "/v1/sessions", { body: { workdir } });
    assertEquals([status, keys(json)], [201, ["session_id", "started_at", "workdir"]]);
    assertMatch(json.session_id, SESSION);
    assertEquals(json.workdir, workdir);
    assertMatch(json.started_at, STAMP);
    const location = headers.get("location") ?? "";
    assertEquals(new URL(location, "http://x").pathname, `/v1/sessions/${json.session_id}`);
    assertEquals((await http(it, "GET", location)).json.id, json.session_id);
  },
);

section3("POST /v1/sessions: model, prompt, approval, budget_usd, title take effect", async () => {
  const { session_id } = await it.session({
    model: "builtin/toolbelt",
    prompt: "ls",
    approval: "read_only",
    budget_usd: 1.5,
    title: "the title",
  });
  const { json } = await http(it, "GET", `/v1/sessions/${session_id}`);
  assertEquals(
    [json.model, json.approval, json.budget_usd, json.title],
    ["builtin/toolbelt", "read_only", 1.5, "the title"],
  );
  const { events } = await sse(
    it,
    `/v1/sessions/${session_id}/events?since_seq=0`,
    (sent) => sent.event === "turn.completed",
  );
  const said = events.find((sent) => sent.event === "user.message");
  assertEquals(JSON.parse(said!.data!).data.text, "ls");
});

section3("GET /v1/sessions: 200 {sessions}, ended ones with ?include_ended=true only", async () => {
  const { session_id, workdir } = await it.session();
  const ended = (await it.session()).session_id;
  assertEquals((await http(it, "DELETE", `/v1/sessions/${ended}`)).status, 204);
  const { status, json } = await http(it, "GET", "/v1/sessions");
  assertEquals([status, keys(json)], [200, ["sessions"]]);
  const byId = (list: { id: string }[], id: string) => list.find((item) => item.id === id);
  const item = byId(json.sessions, session_id) as unknown as Record<string, unknown>;
  for (const key of ITEM) assert(key in item, `${key} is missing`);
  assertEquals([item.workdir, item.state, item.activity], [workdir, "running", "idle"]);
  assertEquals(byId(json.sessions, ended), undefined);
  const all = (await http(it, "GET", "/v1/sessions?include_ended=true")).json.sessions;
  assertEquals(byId(all, session_id) === undefined, false);
  const last = byId(all, ended) as unknown as Record<string, string>;
  assertEquals(last.state, "ended");
  assertMatch(last.ended_at, STAMP);
});

section3("GET /v1/sessions/{id}: the list item and its totals", async () => {
  const { session_id } = await it.session();
  await using client = await connect(it);
  await follow(client, session_id);
  await client.turn(session_id, "help");
  const { status, json } = await http(it, "GET", `/v1/sessions/${session_id}`);
  assertEquals(status, 200);
  const totals = ["cost_usd", "tokens_in", "tokens_out", "messages_count", "pending_approvals"];
  for (const key of [...ITEM, ...totals]) assert(key in json, `${key} is missing`);
  assertEquals([json.messages_count, json.pending_approvals], [2, []]);
  assertEquals(json.last_seq, client.events.at(-1)!.seq);
  for (const key of totals.slice(0, 4)) assertEquals(typeof json[key], "number", key);
});

section3("POST …/messages: 202 {message_id, seq}", async () => {
  const { session_id } = await it.session();
  const path = `/v1/sessions/${session_id}/messages`;
  const { status, json } = await http(it, "POST", path, { body: { text: "help" } });
  assertEquals([status, keys(json)], [202, ["message_id", "seq"]]);
  await using client = await connect(it);
  await follow(client, session_id);
  const message = await event(client, "user.message");
  assertEquals([message.seq, message.data.message_id], [json.seq, json.message_id]);
});

section3("POST …/messages: the same client_message_id again: same answer, once", async () => {
  const { session_id } = await it.session();
  const path = `/v1/sessions/${session_id}/messages`;
  const body = { text: "help", client_message_id: "mine-1" };
  const first = await http(it, "POST", path, { body });
  const at_once = await Promise.all([1, 2, 3].map(() => http(it, "POST", path, { body })));
  await using client = await connect(it);
  await follow(client, session_id);
  await event(client, "turn.completed");
  const later = await http(it, "POST", path, { body });
  for (const { status, json } of [...at_once, later]) {
    assertEquals([status, json], [202, first.json]);
  }
  const other = { text: "help", client_message_id: "mine-2" };
  const next = await http(it, "POST", path, { body: other });
  assert(next.json.seq > first.json.seq);
  await event(client, "user.message", ({ message_id }) => message_id === next.json.message_id);
  assertEquals(of(client, "user.message").length, 2);
});

section3("POST …/cancel: 200 {cancelled}, the turn in flight", async () => {
  const { session_id } = await it.session({ approval: "auto" });
  const path = `/v1/sessions/${session_id}/cancel`;
  const idle = await http(it, "POST", path);
  assertEquals([idle.status, idle.json], [200, { cancelled: false }]);
  await using client = await connect(it);
  await follow(client, session_id);
  await client.call("session.send", { session_id, text: "run sleep 60" });
  await event(client, "session.tool_started");
  const busy = await http(it, "POST", path);
  assertEquals([busy.status, busy.json], [200, { cancelled: true }]);
  assertEquals((await event(client, "turn.completed")).data.stop_reason, "cancelled");
  await client.call("session.kill", { session_id });
  const ended = await http(it, "POST", path);
  assertEquals([ended.status, ended.json.error.code], [410, "ended"]);
});

section3("POST …/pause, /resume: 200 {paused_at}, {resumed_at}", async () => {
  const { session_id } = await it.session();
  const state = async () => (await http(it, "GET", `/v1/sessions/${session_id}`)).json.state;
  const paused = await http(it, "POST", `/v1/sessions/${session_id}/pause`);
  assertEquals([paused.status, keys(paused.json)], [200, ["paused_at"]]);
  assertMatch(paused.json.paused_at, STAMP);
  assertEquals(await state(), "paused");
  const resumed = await http(it, "POST", `/v1/sessions/${session_id}/resume`);
  assertEquals([resumed.status, keys(resumed.json)], [200, ["resumed_at"]]);
  assertMatch(resumed.json.resumed_at, STAMP);
  assertEquals(await state(), "running");
});

for (const decision of ["allow", "allow_always", "deny"]) {
  section3(`POST …/approvals/{approval_id} ${decision}: 200`, async () => {
    const { session_id } = await it.session();
    await using client = await connect(it);
    await follow(client, session_id);
    await client.call("session.send", { session_id, text: "run echo ran" });
    const { data: { approval_id } } = await event(client, "approval.requested");
    const path = `/v1/sessions/${session_id}/approvals/${approval_id}`;
    assertEquals((await http(it, "POST", path, { body: { decision } })).status, 200);
    assertEquals((await event(client, "approval.resolved")).data.decision, decision);
    const { data } = await event(client, "session.tool_completed");
    assertEquals(data.ok, decision !== "deny");
    await event(client, "turn.completed");
  });
}

section3("DELETE /v1/sessions/{id}: 204 without a body", async () => {
  const { session_id } = await it.session();
  const { status, text } = await http(it, "DELETE", `/v1/sessions/${session_id}`);
  assertEquals([status, text], [204, ""]);
  assertEquals((await http(it, "GET", `/v1/sessions/${session_id}`)).json?.state, "ended");
});

section3("GET …/events: id is the seq, event the type, data the event's JSON", async () => {
  const { session_id } = await it.session({ prompt: "help" });
  await using client = await connect(it);
  await follow(client, session_id);
  const { events } = await sse(
    it,
    `/v1/sessions/${session_id}/events?since_seq=0`,
    (sent) => sent.event === "turn.completed",
  );
  await event(client, "turn.completed");
  assertEquals(events.map(({ id }) => id), client.events.map(({ seq }) => String(seq)));
  for (const [n, sent] of events.entries()) {
    const { seq, at, type, data } = JSON.parse(sent.data!);
    const pushed = client.events[n];
    assertEquals({ seq, at, type, data }, {
      seq: pushed.seq,
      at: pushed.at,
      type: sent.event!,
      data: pushed.data,
    });
    assertEquals(sent.event, pushed.type);
  }
});

section3("GET …/events: Last-Event-ID beats ?since_seq=", async () => {
  const { session_id } = await it.session({ prompt: "help" });
  const path = `/v1/sessions/${session_id}/events`;
  const first = async (query: string, headers: HeadersInit = {}) => {
    const { events } = await sse(it, path + query, () => true, headers);
    return events[0].id;
  };
  assertEquals(await first("?since_seq=3"), "4");
  assertEquals(await first("?since_seq=0", { "last-event-id": "2" }), "3");
  assertEquals(await first("?since_seq=4", { "last-event-id": "1" }), "2");
  assertEquals(await first("", { "last-event-id": "3" }), "4");
});

section3("GET …/events: replay goes on live, over two readers, exactly once", async () => {
  const { session_id } = await it.session({ prompt: "help" });
  const path = `/v1/sessions/${session_id}/events?since_seq=0`;
  const read = () => {
    let ends = 0;
    return sse(it, path, (sent) => sent.event === "turn.completed" && ++ends === 3);
  };
  const both = [read(), read()];
  await using client = await connect(it);
  await follow(client, session_id);
  // What comes while the prompt's turn runs would be taken by that one.
  await event(client, "turn.completed");
  for (const text of ["ls", "help"]) await client.turn(session_id, text);
  for (const { events } of await Promise.all(both)) {
    assertEquals(events.map(({ id }) => Number(id)), events.map((_, n) => n + 1));
  }
});
