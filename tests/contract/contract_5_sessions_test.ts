import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Place } from "../support/svc.ts";
import type { Json } from "./client.ts";
import {
  assertRpcError,
  connect,
  event,
  follow,
  of,
  SESSION,
  Shared,
  STAMP,
} from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

function section5(name: string, fn: () => void | Promise<void>, options?: { ignore?: boolean }) {
  row("contract", "5 Sessions", name, fn, options);
}

/** A followed session of its own client. */
async function begin(params: Json = {}) {
  const { session_id, workdir } = await it.session(params);
  const client = await connect(it);
  await follow(client, session_id);
  const call = (method: string, more: Json = {}) => client.call(method, { session_id, ...more });
  const get = () => call("session.get");
  return { session_id, workdir, client, call, get };
}

section5("the id is sess_ + ULID; the fields of a session", async () => {
  const { client, get } = await begin({ title: "t", budget_usd: 3 });
  await using _ = client;
  const got = await get();
  assertMatch(got.id, SESSION);
  for (
    const key of [
      "id",
      "workdir",
      "model",
      "title",
      "state",
      "activity",
      "started_at",
      "last_seq",
      "approval",
      "budget_usd",
      "lanes",
    ]
  ) assert(key in got, `${key} is missing`);
  assertMatch(got.started_at, STAMP);
  assertEquals([got.approval, got.state, got.activity], ["ask", "running", "idle"]);
  assert(!("ended_at" in got));
});

section5("activity: idle, working, awaiting_approval", async () => {
  const { session_id, workdir, client, get, call } = await begin();
  await using _ = client;
  assertEquals((await get()).activity, "idle");
  await call("session.send", { text: "run until [ -e go ]; do sleep 0.1; done" });
  const { data: { approval_id } } = await event(client, "approval.requested");
  assertEquals((await get()).activity, "awaiting_approval");
  await call("session.approve", { approval_id, decision: "allow" });
  await event(client, "approval.resolved");
  assertEquals((await get()).activity, "working");
  Deno.writeTextFileSync(join(workdir, "go"), "");
  await event(client, "turn.completed");
  assertEquals((await client.call("session.get", { session_id })).activity, "idle");
});

section5("state: running → paused → running → ended", async () => {
  const { client, get, call } = await begin();
  await using _ = client;
  const states = [(await get()).state];
  for (const method of ["session.pause", "session.resume", "session.kill"]) {
    await call(method);
    states.push((await get()).state);
  }
  assertEquals(states, ["running", "paused", "running", "ended"]);
  assertMatch((await get()).ended_at, STAMP);
  const marks = client.events.filter(({ type }) => /^session\.(paused|resumed|ended)$/.test(type));
  assertEquals(marks.map(({ type, data }) => [type, data.reason]), [
    ["session.paused", "operator"],
    ["session.resumed", "operator"],
    ["session.ended", "killed"],
  ]);
});

section5("state: paused → ended; ended is final", async () => {
  const { session_id, client, get, call } = await begin();
  await using _ = client;
  await call("session.pause");
  await call("session.kill");
  assertEquals((await get()).state, "ended");
  for (const method of ["session.resume", "session.pause"]) {
    const error = await client.fails(method, { session_id });
    assertEquals(error.data.svc_code, "ended");
  }
  assertEquals(
    (await client.fails("session.send", { session_id, text: "x" })).data.svc_code,
    "ended",
  );
  assertEquals((await get()).state, "ended");
});

section5("kill: cancels the turn, then session.ended as the last event", async () => {
  const { client, call } = await begin({ approval: "auto" });
  await using _ = client;
  await call("session.send", { text: "run sleep 60" });
  await event(client, "session.tool_started");
  await call("session.kill");
  await event(client, "session.ended");
  assertEquals((await event(client, "turn.completed")).data.stop_reason, "cancelled");
  assertEquals(client.events.at(-1)!.type, "session.ended");
});

section5("kill: a tool that does not stop gets 5 s", async () => {
  const { client, call } = await begin({ approval: "auto" });
  await using _ = client;
  await call("session.send", { text: "run trap '' TERM INT; while :; do sleep 0.2; done" });
  await event(client, "session.tool_started");
  await call("session.kill");
  await event(client, "session.ended");
});

section5("pause: stops the turn at the next safe point, writes session.paused", async () => {
  const { workdir, client, call, get } = await begin({ approval: "auto" });
  await using _ = client;
  const text = "run until [ -e go ]; do sleep 0.1; done; echo one > one\nrun echo two > two";
  await call("session.send", { text });
  await event(client, "session.tool_started");
  const pausing = call("session.pause");
  // Answered after the pause was taken up.
  await get();
  Deno.writeTextFileSync(join(workdir, "go"), "");
  await pausing;
  const paused = await event(client, "session.paused");
  assertEquals(paused.data, { reason: "operator" });
  assertEquals((await get()).state, "paused");
  const before = client.events.length;
  assert(!of(client, "session.tool_started").some(({ seq }) => seq > paused.seq));
  assertEquals(client.events.length, before);
  const found = [...Deno.readDirSync(workdir)].map(({ name }) => name);
  assert(!found.includes("two"), "the turn went on after the pause");
  await call("session.resume");
  await event(client, "session.resumed");
  assertEquals((await client.turn(paused.session_id, "help")).data.stop_reason, "ok");
});

const workdirs: [string, () => string, RegExp][] = [
  ["absolute", () => "relative/dir", /absolute/i],
  ["exists", () => join(it.place.dir, "none"), /exist/i],
  ["a directory", () => {
    const path = join(it.workdir(), "file");
    Deno.writeTextFileSync(path, "x");
    return path;
  }, /directory/i],
  ["really writable (probed)", () => "/proc", /writ/i],
  ["not the home of svc", () => it.place.home, /home|svc/i],
  ["nor inside it", () => join(it.place.home, "log"), /home|svc/i],
];
for (const [rule, path, says] of workdirs) {
  section5(`workdir: ${rule}; a bad one is -32001 and says which rule`, async () => {
    await using client = await connect(it);
    const error = await client.fails("session.start", { workdir: path() });
    assertRpcError(error, -32001, "validation");
    assertMatch(error.message.replace(/^\d+ /, ""), says);
    assertStringIncludes(error.message, "workdir");
  });
}

section5("workdir: a link into the home of svc is none either", async () => {
  const link = join(it.workdir(), "link");
  Deno.symlinkSync(it.place.home, link);
  await using client = await connect(it);
  assertRpcError(await client.fails("session.start", { workdir: link }), -32001, "validation");
});

section5("workdir: two sessions may share one", async () => {
  const workdir = it.workdir();
  const [one, two] = [await begin({ workdir }), await begin({ workdir })];
  await using _ = one.client;
  await using __ = two.client;
  assert(one.session_id !== two.session_id);
  Deno.writeTextFileSync(join(workdir, "shared.txt"), "shared text");
  for (const { client, session_id } of [one, two]) {
    const { data } = await client.turn(session_id, "read shared.txt");
    assertStringIncludes(data.message, "shared text");
  }
});

section5("approval auto: writes and commands run without asking", async () => {
  const { session_id, workdir, client } = await begin({ approval: "auto" });
  await using _ = client;
  await client.turn(session_id, "run echo made > made.txt");
  assertEquals(of(client, "approval.requested"), []);
  assertEquals(Deno.readTextFileSync(join(workdir, "made.txt")), "made\n");
});

section5("approval ask (default): reads run, writes and commands wait", async () => {
  const { session_id, workdir, client, call, get } = await begin();
  await using _ = client;
  assertEquals((await get()).approval, "ask");
  Deno.writeTextFileSync(join(workdir, "a.txt"), "text of a");
  for (const text of ["ls", "read a.txt", "grep text"]) await client.turn(session_id, text);
  assertEquals(of(client, "approval.requested"), []);
  await call("session.send", { text: "run echo made > made.txt" });
  const { data } = await event(client, "approval.requested");
  assert(![...Deno.readDirSync(workdir)].some(({ name }) => name === "made.txt"));
  await call("session.approve", { approval_id: data.approval_id, decision: "deny" });
  const resolved = await event(client, "approval.resolved");
  assertEquals(resolved.data.decision, "deny");
  await event(
    client,
    "turn.completed",
    ({ turn_id }) => turn_id === of(client, "turn.started").at(-1)!.data.turn_id,
  );
  assert(![...Deno.readDirSync(workdir)].some(({ name }) => name === "made.txt"));
});

section5("approval ask: a write waits, and is done once allowed", async () => {
  const { workdir, client, call } = await begin();
  await using _ = client;
  const path = join(workdir, "new.txt");
  await call("session.send", { text: "write new.txt\n```\nwritten\n```" });
  const { data: { approval_id, tool } } = await event(client, "approval.requested");
  assertStringIncludes(tool, "write");
  assert(!(await Deno.stat(path).catch(() => false)), "written before it was allowed");
  await call("session.approve", { approval_id, decision: "allow" });
  await event(client, "turn.completed");
  assertEquals(Deno.readTextFileSync(path).trim(), "written");
});

section5("approval ask: what was always allowed is not asked again", async () => {
  const { session_id, client, call } = await begin();
  await using _ = client;
  await call("session.send", { text: "run echo again" });
  const { data: { approval_id } } = await event(client, "approval.requested");
  await call("session.approve", { approval_id, decision: "allow_always" });
  await event(client, "turn.completed");
  const { data } = await client.turn(session_id, "run echo again");
  assertEquals(data.stop_reason, "ok");
  assertEquals(of(client, "approval.requested").length, 1);
});

section5("approval read_only: reads run, writes and commands are refused", async () => {
  const { session_id, workdir, client } = await begin({ approval: "read_only" });
  await using _ = client;
  await client.turn(session_id, "ls");
  await client.turn(session_id, "run echo made > made.txt");
  const [list, run] = of(client, "session.tool_completed").map(({ data }) => data);
  assertEquals([list.ok, run.ok], [true, false]);
  assertEquals(of(client, "approval.requested"), []);
  assert(![...Deno.readDirSync(workdir)].some(({ name }) => name === "made.txt"));
});

section5("approvals are decided once; an unknown decision is -32602 or -32001", async () => {
  const { session_id, client, call } = await begin();
  await using _ = client;
  await call("session.send", { text: "run echo x" });
  const { data: { approval_id } } = await event(client, "approval.requested");
  const wrong = await client.fails("session.approve", {
    session_id,
    approval_id,
    decision: "maybe",
  });
  assert([-32602, -32001].includes(wrong.code), String(wrong.code));
  await call("session.approve", { approval_id, decision: "allow" });
  const late = await client.fails("session.approve", { session_id, approval_id, decision: "deny" });
  assert(["not_found", "conflict"].includes(late.data.svc_code), late.data.svc_code);
  await event(client, "turn.completed");
  assertEquals(of(client, "approval.resolved").length, 1);
});

section5("session.send: the same client_message_id again over any door: once", async () => {
  const { client, call } = await begin();
  await using _ = client;
  const send = () => call("session.send", { text: "help", client_message_id: "m-1" });
  const [first, ...more] = await Promise.all([send(), send(), send()]);
  await event(client, "turn.completed");
  for (const answer of [...more, await send()]) assertEquals(answer, first);
  assertEquals(of(client, "user.message").length, 1);
});

section5("workdir: a default_workdir stands in for one left out", async () => {
  await using place = new Place();
  const workdir = place.mkdir("default");
  place.configure(`default_workdir = "${workdir}"\n`);
  await using client = await connect(await place.serve());
  assertEquals((await client.call("session.start", {})).workdir, workdir);
});
