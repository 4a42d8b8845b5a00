import { assertEquals, assertRejects } from "@std/assert";
import { granted } from "../../tests/support/permissions.ts";
import { journaled, newSession, reopened, TempDir } from "../../tests/support/sessions.ts";
import { SvcError } from "../protocol/errors.ts";
import type { LaneKind } from "../protocol/events.ts";
import type { Session } from "./session.ts";

const ignore = !granted("read", "write");

async function running(session: Session, lane_id: string, kind: LaneKind, parent?: string) {
  await session.lanes.open({
    lane_id,
    kind,
    parent_lane_id: parent,
    label: lane_id,
    started_at: "now",
  });
  await session.lanes.move(lane_id, "running", "test", "test");
}

function statuses(session: Session) {
  return Object.fromEntries(session.state.lanes.map((lane) => [lane.lane_id, lane.status]));
}

Deno.test({
  name: "killing a lane stops those below it first, each told and recorded",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const session = await newSession(path);
    await running(session, "a", "mission_task");
    await running(session, "b", "mission_task", "a");
    await running(session, "c", "mission_task", "b");
    const stopped: string[] = [];
    for (const id of ["a", "b", "c"]) session.lanes.onKilled(id, () => stopped.push(id));
    const why = { reason: "enough", actor: "test" };
    const refused = await assertRejects(
      () => session.lanes.kill("a", { ...why, cascade: false }),
      SvcError,
    );
    assertEquals(refused.code, "conflict");
    assertEquals(await session.lanes.kill("a", { ...why, cascade: true }), ["c", "b", "a"]);
    assertEquals(stopped, ["c", "b", "a"]);
    const told = (await journaled(path)).filter((it) => it.type === "lane.killed");
    assertEquals(told.map(({ data }) => (data as { lane_id: string }).lane_id), ["c", "b", "a"]);
    session.journal.release();
  },
});

Deno.test({
  name: "a turn's end takes its tool lanes along, no other",
  ignore,
  async fn() {
    using dir = new TempDir();
    const session = await newSession(dir.join("journal.ndjson"), {
      async runTurn(session) {
        session.takeFresh();
        await running(session, "tool", "tool", "main");
        await running(session, "task", "mission_task", "main");
        return { stop_reason: "ok" };
      },
    });
    const completed = Promise.withResolvers<void>();
    const subscription = session.subscribe({
      deliver: ({ type }) => type === "turn.completed" ? completed.resolve() : undefined,
      ended() {},
    }, {});
    subscription.start();
    await session.send("go");
    await completed.promise;
    assertEquals(statuses(session), { main: "running", tool: "cancelled", task: "running" });
    await session.kill();
    assertEquals(statuses(session).task, "cancelled");
  },
});

Deno.test({
  name: "lanes that a killed daemon left open are cancelled when their session comes back",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const before = await newSession(path);
    await running(before, "task", "mission_task", "main");
    await running(before, "lobe", "lobe", "main");
    const asking = new AbortController();
    const request = { call_id: "c", tool: "remember", args: {}, reason: "r", rule: "x" };
    const asked = before.approvals.ask(request, {
      lane_id: "lobe",
      signal: asking.signal,
    });
    while (before.state.lanes.at(-1)?.status !== "blocked") await before.emit("lane.note", note);
    before.journal.release();
    const session = await reopened(path);
    assertEquals(session.state.pending_approvals.length, 1);
    await session.recover();
    assertEquals(statuses(session), { main: "pending", task: "cancelled", lobe: "cancelled" });
    assertEquals(session.state.pending_approvals, []);
    session.journal.release();
    asking.abort();
    await assertRejects(() => asked);
  },
});

const note = { lane_id: "main", text: "waiting", reason_code: "test" };

Deno.test({
  name: "a lane that ends by itself while it is killed ends once, and holds up no kill of all",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("journal.ndjson");
    const session = await newSession(path);
    const ends = (id: string) => session.lanes.move(id, "errored", "the model is gone", "errored");
    await running(session, "first", "lobe");
    await running(session, "second", "lobe");
    // The lane's own end is under way, or comes while the kill is.
    await Promise.all([ends("first"), session.lanes.killAll("the session was killed", "test")]);
    await running(session, "third", "lobe");
    const killed = session.lanes.killAll("the session was killed", "test");
    await Promise.resolve();
    await Promise.all([killed, ends("third")]);
    const ended = (await journaled(path)).filter(({ type, data }) =>
      type === "lane.status" && ["errored", "cancelled"].includes((data as Status).status)
    );
    const lanes = ended.map(({ data }) => (data as Status).lane_id);
    assertEquals(lanes.toSorted(), ["first", "second", "third"]);
    assertEquals(statuses(session).first, "errored");
    assertEquals(statuses(session).second, "cancelled");
    session.journal.release();
  },
});

interface Status {
  lane_id: string;
  status: string;
}
