import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { delay } from "@std/async";
import type { PushedEvent, SocketClient } from "./client.ts";
import { connect, event, follow, of, Shared } from "./contract_kit.ts";
import { row } from "./row.ts";

const it = new Shared();

function section5(name: string, fn: () => void | Promise<void>) {
  row("contract", "5 Lanes", name, fn);
}

const LANE_EVENTS = [
  "lane.created",
  "lane.status",
  "lane.delta",
  "lane.cost",
  "lane.note",
  "lane.killed",
];
const ALLOWED: Record<string, string[]> = {
  pending: ["running", "cancelled"],
  running: ["blocked", "done", "errored", "cancelled"],
  blocked: ["running", "cancelled", "errored"],
  done: [],
  errored: [],
  cancelled: [],
};

/** Every step of every lane is an allowed one; what came before is what prev_status says. */
function assertMoves(events: PushedEvent[]): void {
  const now = new Map<string, string>();
  for (const { type, data } of events) {
    if (type === "lane.created") now.set(data.lane_id, "pending");
    if (type !== "lane.status") continue;
    const { lane_id, status, prev_status } = data;
    assertEquals(prev_status, now.get(lane_id), `${lane_id} → ${status}`);
    assert(ALLOWED[prev_status].includes(status), `${prev_status} → ${status}`);
    now.set(lane_id, status);
  }
}

async function begin(approval = "auto") {
  const { session_id, workdir } = await it.session({ approval });
  const client = await connect(it);
  await follow(client, session_id);
  // What an instruction that waits for it runs until.
  const go = () => Deno.writeTextFileSync(join(workdir, "go"), "");
  return { session_id, client, go };
}

const UNTIL_GO = "until [ -e go ]; do sleep 0.1; done";

/** Sends an instruction and waits until it has a lane of its own. */
async function withLane(client: SocketClient, session_id: string, text: string) {
  await client.call("session.send", { session_id, text });
  return (await event(client, "lane.created", ({ kind }) => kind === "tool")).data.lane_id;
}

section5("the main lane: kind main, there from the beginning", async () => {
  const { session_id, client } = await begin();
  await using _ = client;
  const { lanes } = await client.call("lanes.list", { session_id });
  assertEquals(lanes.length, 1);
  assertEquals([lanes[0].kind, lanes[0].pinned], ["main", false]);
  const created = await event(client, "lane.created");
  assertEquals([created.data.lane_id, created.data.kind], [lanes[0].lane_id, "main"]);
});

section5("a tool call becomes a lane when it runs longer than 2 s", async () => {
  const { session_id, client, go } = await begin();
  await using _ = client;
  await withLane(client, session_id, `run ${UNTIL_GO}`);
  go();
  await event(client, "turn.completed");
  const started = of(client, "session.tool_started")[0];
  const lane = await event(client, "lane.created", ({ kind }) => kind === "tool");
  const waited = Date.parse(lane.at) - Date.parse(started.at);
  assert(waited >= 1_900, `a lane after ${waited} ms`);
  assert(lane.seq < of(client, "session.tool_completed")[0].seq);
  const main = of(client, "lane.created")[0].data.lane_id;
  assertEquals(lane.data.parent_lane_id, main);
  const moves = of(client, "lane.status").filter(({ data }) => data.lane_id === lane.data.lane_id);
  assertEquals(moves.map(({ data }) => data.status), ["running", "done"]);
});

section5("a tool call that is done before 2 s becomes none", async () => {
  const { session_id, client } = await begin();
  await using _ = client;
  // On a machine that stands still meanwhile it is not done before; then once more.
  for (let n = 0; n < 5; n++) {
    await client.turn(session_id, "run sleep 1");
    const { at: began } = of(client, "session.tool_started")[n];
    const { at: ended, data: { call_id } } = of(client, "session.tool_completed")[n];
    if (Date.parse(ended) - Date.parse(began) >= 1_900) continue;
    assert(!of(client, "lane.created").some(({ data }) => data.call_id === call_id));
    return;
  }
  throw new Error("no call was done before 2 s");
});

section5("a tool lane that fails is errored", async () => {
  const { session_id, client, go } = await begin();
  await using _ = client;
  const lane_id = await withLane(client, session_id, `run ${UNTIL_GO}; exit 7`);
  go();
  await event(client, "turn.completed");
  const last = of(client, "lane.status").findLast(({ data }) => data.lane_id === lane_id);
  assertEquals(last!.data.status, "errored");
});

section5("transitions: only allowed ones, prev_status is what was", async () => {
  const { session_id, client } = await begin("ask");
  await using _ = client;
  for (const decision of ["allow", "deny"]) {
    await client.call("session.send", { session_id, text: `run sleep 2.3; echo ${decision}` });
    const asked = await event(
      client,
      "approval.requested",
      ({ args }) => JSON.stringify(args).includes(decision),
    );
    const { approval_id } = asked.data;
    await event(client, "lane.status", ({ status }) => status === "blocked");
    await client.call("session.approve", { session_id, approval_id, decision });
    await client.event(({ type, seq }) => type === "turn.completed" && seq > asked.seq);
  }
  await client.turn(session_id, "help");
  await client.call("session.kill", { session_id });
  await event(client, "session.ended");
  assertMoves(client.events);
});

section5("exactly six lane events", async () => {
  const { session_id, client } = await begin();
  await using _ = client;
  const lane_id = await withLane(client, session_id, "run echo early; sleep 60");
  await client.call("lanes.kill", { session_id, lane_id });
  await event(client, "turn.completed");
  await client.turn(session_id, "help");
  const types = new Set(
    client.events.map(({ type }) => type).filter((it) => it.startsWith("lane")),
  );
  for (const type of types) assert(LANE_EVENTS.includes(type), type);
});

section5("lane.killed {reason, actor}, always followed by lane.status cancelled", async () => {
  const { session_id, client } = await begin();
  await using _ = client;
  const lane_id = await withLane(client, session_id, "run sleep 60");
  await client.call("lanes.kill", { session_id, lane_id });
  await event(client, "turn.completed");
  const own = client.events.filter(({ data }) => data.lane_id === lane_id);
  const at = own.findIndex(({ type }) => type === "lane.killed");
  assertEquals(Object.keys(own[at].data).sort(), ["actor", "lane_id", "reason"]);
  assertEquals([own[at + 1].type, own[at + 1].data.status], ["lane.status", "cancelled"]);
  assertMoves(client.events);
});

section5("lane.delta: delta_seq counts from 1 per lane", async () => {
  const { session_id, client, go } = await begin();
  await using _ = client;
  const text = `run echo early; ${UNTIL_GO}; for n in 1 2 3; do echo line $n; sleep 0.5; done`;
  await withLane(client, session_id, text);
  go();
  await event(client, "turn.completed");
  await client.turn(session_id, "help");
  const counts = new Map<string, number>();
  for (const { data } of of(client, "lane.delta")) {
    const next = (counts.get(data.lane_id) ?? 0) + 1;
    assertEquals(data.delta_seq, next, data.lane_id);
    counts.set(data.lane_id, next);
  }
  assertEquals(counts.size, 2);
});

section5("lanes.list, get {tail?}", async () => {
  const { session_id, client } = await begin();
  await using _ = client;
  const lane_id = await withLane(client, session_id, "run echo a; sleep 1; echo b; sleep 60");
  await event(client, "lane.delta", (data) => data.lane_id === lane_id);
  const { lanes } = await client.call("lanes.list", { session_id });
  const kinds = lanes.map(({ kind, status }: Record<string, string>) => [kind, status]);
  assertEquals(kinds, [["main", "running"], ["tool", "running"]]);
  const got = await client.call("lanes.get", { session_id, lane_id });
  assertEquals([got.lane_id, got.kind, got.status], [lane_id, "tool", "running"]);
  const none = await client.call("lanes.get", { session_id, lane_id, tail: 0 });
  assertEquals(none.deltas ?? [], []);
  assertEquals((await client.fails("lanes.get", { session_id, lane_id: "none" })).code, -32002);
  await client.call("session.cancel", { session_id });
  await event(client, "turn.completed");
});

section5("lanes.subscribe pushes lane events, replay before live", async () => {
  const { session_id, client: other } = await begin();
  await using _ = other;
  await other.turn(session_id, "help");
  await using client = await connect(it);
  const answer = await client.call("lanes.subscribe", { session_id, since_seq: 0 });
  assertEquals([typeof answer.sub, typeof answer.current_seq], ["number", "number"]);
  await other.turn(session_id, "help");
  const last = of(other, "lane.delta").at(-1)!.seq;
  await client.event(({ seq }) => seq >= last);
  assertEquals(client.events.filter(({ type }) => !LANE_EVENTS.includes(type)), []);
  const lanes = other.events.filter(({ type, seq }) => LANE_EVENTS.includes(type) && seq <= last);
  assertEquals(
    client.events.filter(({ seq }) => seq <= last).map(({ seq }) => seq),
    lanes.map(({ seq }) => seq),
  );
});

section5(
  "lanes.kill of the main lane: all of it with what is below, or nothing",
  async () => {
    const { session_id, client } = await begin();
    await using _ = client;
    const lane_id = await withLane(client, session_id, "run sleep 60");
    const main = of(client, "lane.created")[0].data.lane_id;
    const { error } = await client.ask({
      method: "lanes.kill",
      params: { session_id, lane_id: main },
    });
    if (error === undefined) {
      await event(client, "lane.killed", (data) => data.lane_id === lane_id);
    } else {
      await delay(50);
      const got = await client.call("lanes.get", { session_id, lane_id });
      assertEquals(got.status, "running");
      await client.call("session.cancel", { session_id });
    }
    await event(client, "turn.completed");
    assertMoves(client.events);
  },
);

section5("lanes.kill: a lane that has ended is refused", async () => {
  const { session_id, client } = await begin();
  await using _ = client;
  const lane_id = await withLane(client, session_id, "run sleep 60");
  await client.call("lanes.kill", { session_id, lane_id });
  await event(client, "lane.status", ({ status }) => status === "cancelled");
  const { data } = await client.fails("lanes.kill", { session_id, lane_id });
  assertEquals(data.svc_code, "conflict");
  await event(client, "turn.completed");
});

section5("pinned apart: lanes.pin {pinned} changes no status", async () => {
  const { session_id, client } = await begin();
  await using _ = client;
  const lane_id = await withLane(client, session_id, "run sleep 60");
  const get = () => client.call("lanes.get", { session_id, lane_id });
  const before = await get();
  assertEquals([before.pinned, before.status], [false, "running"]);
  for (const pinned of [true, false, true]) {
    await client.call("lanes.pin", { session_id, lane_id, pinned });
    const got = await get();
    assertEquals([got.pinned, got.status], [pinned, "running"]);
  }
  await client.call("session.cancel", { session_id });
  await event(client, "turn.completed");
  assertEquals((await get()).pinned, true);
});
