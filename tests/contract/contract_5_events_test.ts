import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Json, PushedEvent } from "./client.ts";
import { connect, event, follow, of, Shared, STAMP } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

function section5(name: string, fn: () => void | Promise<void>) {
  row("contract", "5 events", name, fn);
}

const lane = "lane_id";
/** The fields of each type's data; `?` marks one that may be left out. */
const FIELDS: Record<string, string[]> = {
  "session.created": ["workdir", "model", "title"],
  "user.message": ["message_id", "text"],
  "turn.started": ["turn_id", "model"],
  "session.delta": ["turn_id", "text"],
  "session.tool_started": ["call_id", "tool", "args", lane],
  "session.tool_completed": ["call_id", "tool", "ok", "duration_ms", "output", "truncated"],
  "approval.requested": ["approval_id", "call_id", "tool", "args", "reason"],
  "approval.resolved": ["approval_id", "decision", "by"],
  "turn.completed": ["turn_id", "stop_reason", "message", "usage"],
  "cost.tick": ["usd_delta", "tokens_in", "tokens_out", "tokens_cached"],
  "session.paused": ["reason"],
  "session.resumed": ["reason"],
  "session.ended": ["reason"],
  "lane.created": [lane, "kind", "parent_lane_id?", "label", "started_at"],
  "lane.status": [lane, "status", "prev_status", "reason", "reason_code"],
  "lane.delta": [lane, "delta_seq", "content_block"],
  "lane.killed": [lane, "reason", "actor"],
  "memory.written": ["entry_id", "category", "scope", "content_sha"],
};
/** Fields that the product sends beyond those; a new one must be put here on purpose. */
const BEYOND: Record<string, string[]> = {
  "session.created": ["approval", "budget_usd", "trust", "untitled", "directory"],
  "user.message": ["client_message_id"],
  "session.tool_completed": ["exit_code"],
  "approval.requested": ["lane_id", "rule", "choices"],
  "cost.tick": ["seen_seq", "lane_id", "context_limit", "model", "answered"],
  "lane.created": ["call_id"],
  "turn.completed": ["error"],
};

const TYPES: Record<string, string> = {
  usd_delta: "number",
  tokens_in: "number",
  tokens_out: "number",
  tokens_cached: "number",
  duration_ms: "number",
  delta_seq: "number",
  ok: "boolean",
  truncated: "boolean",
  args: "object",
  usage: "object",
  content_block: "object",
};

function assertFields({ type, data }: PushedEvent): void {
  const said = `${type} ${JSON.stringify(data)}`;
  for (const field of FIELDS[type]) {
    const name = field.replace("?", "");
    if (!(name in data)) {
      assert(field.endsWith("?"), `${name} is missing in ${said}`);
      continue;
    }
    assertEquals(typeof data[name], TYPES[name] ?? "string", `${name} in ${said}`);
  }
  const known = [...FIELDS[type].map((field) => field.replace("?", "")), ...BEYOND[type] ?? []];
  assertEquals(Object.keys(data).filter((key) => !known.includes(key)), [], said);
}

/** One session through everything that its events tell of. */
async function life(): Promise<PushedEvent[]> {
  await using client = await connect(it);
  const { session_id } = await it.session({ prompt: "help" });
  await follow(client, session_id);
  await event(client, "turn.completed");
  const turn = client.turn(session_id, "run sleep 60");
  const asked = await event(client, "approval.requested");
  const { approval_id } = asked.data;
  await client.call("session.approve", { session_id, approval_id, decision: "allow" });
  const { data } = await event(client, "lane.created", ({ kind }) => kind === "tool");
  await client.call("lanes.kill", { session_id, lane_id: data.lane_id });
  await turn;
  await client.turn(session_id, "remember a life has events");
  for (const method of ["session.pause", "session.resume", "session.kill"]) {
    await client.call(method, { session_id });
  }
  await event(client, "session.ended");
  return client.events;
}

let lived: Promise<PushedEvent[]> | undefined;

for (const type of Object.keys(FIELDS)) {
  section5(`${type} {${FIELDS[type].join(", ")}}`, async () => {
    const events = (await (lived ??= life())).filter((each) => each.type === type);
    assert(events.length > 0, `no ${type} came`);
    for (const each of events) assertFields(each);
  });
}

section5("every type that came is one of the contract's", async () => {
  const known = [...Object.keys(FIELDS), "files.kept", "lane.cost", "lane.note", "daemon.reloaded"];
  for (const { type } of await (lived ??= life())) assert(known.includes(type), type);
});

section5("turn.completed: usage is of numbers, message the turn's text", async () => {
  const events = await (lived ??= life());
  for (const { data } of events.filter(({ type }) => type === "turn.completed")) {
    for (const value of Object.values(data.usage)) assertEquals(typeof value, "number");
    assert(["ok", "cancelled", "error"].includes(data.stop_reason));
    const deltas = events.filter(({ type, data: { turn_id } }) =>
      type === "session.delta" && turn_id === data.turn_id
    );
    assertEquals(deltas.map(({ data }) => data.text).join(""), data.message);
  }
});

section5("approval.resolved: by names a door; call ids tie request, start and end", async () => {
  const events = await (lived ??= life());
  const find = (type: string) => events.find((each) => each.type === type)!.data;
  const { call_id, approval_id, tool } = find("approval.requested");
  assertEquals(find("approval.resolved").approval_id, approval_id);
  assert(find("approval.resolved").by.length > 0);
  for (const type of ["session.tool_started", "session.tool_completed"]) {
    assertEquals([find(type).call_id, find(type).tool], [call_id, tool]);
  }
});

section5("seq: from 1, without gaps, in order; at is RFC 3339 and never goes back", async () => {
  const events = await (lived ??= life());
  assertEquals(events.map(({ seq }) => seq), events.map((_, n) => n + 1));
  for (const [n, { at }] of events.entries()) {
    assertMatch(at, STAMP);
    assert(n === 0 || at >= events[n - 1].at);
  }
});

section5("seq is per session: two at once count for themselves", async () => {
  await using client = await connect(it);
  const ids = await Promise.all([1, 2].map(() => client.session({ workdir: it.workdir() })));
  await Promise.all(ids.map((id) => client.turn(id, "help\nls")));
  for (const id of ids) {
    const own = client.events.filter(({ session_id }) => session_id === id);
    assertEquals(own.map(({ seq }) => seq), own.map((_, n) => n + 1));
  }
});

for (
  const [deltas, types] of [
    ["session", ["session.delta"]],
    ["lane", ["lane.delta"]],
    ["both", ["lane.delta", "session.delta"]],
    [undefined, ["lane.delta", "session.delta"]],
  ] as const
) {
  section5(`deltas: ${deltas ?? "left out (both)"} gives ${types.join(" and ")}`, async () => {
    await using client = await connect(it);
    const { session_id } = await it.session();
    await follow(client, session_id, { deltas });
    const { data } = await client.turn(session_id, "help");
    const came = client.events.map(({ type }) => type).filter((type) => type.endsWith(".delta"));
    assertEquals([...new Set(came)].sort(), [...types]);
    const text = {
      "session.delta": ({ text }: Json) => text,
      "lane.delta": ({ content_block }: Json) => content_block.text,
    };
    for (const type of types) {
      assertEquals(of(client, type).map(({ data }) => text[type](data)).join(""), data.message);
    }
    const later = await connect(it);
    await using _ = later;
    await follow(later, session_id, { deltas });
    await event(later, "turn.completed");
    const seqs = (events: PushedEvent[]) => events.map(({ seq }) => seq);
    assertEquals(seqs(later.events), seqs(client.events));
  });
}

section5("deltas: another word is -32602", async () => {
  await using client = await connect(it);
  const { session_id } = await it.session();
  const { code } = await client.fails("session.subscribe", { session_id, deltas: "all" });
  assertEquals(code, -32602);
});
