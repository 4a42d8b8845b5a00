import { assertEquals, assertThrows } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import { Budget } from "./budget.ts";
import type { Mission } from "./mission.ts";
import { readSpec } from "./spec.ts";
import { hasUnfinishedMissions, MissionStore } from "./store.ts";

const AT = "2026-01-02T03:04:05.000Z";

function mission(id: string): Mission {
  const task = { id: "t", description: "Do it." };
  const criterion = { id: "c", description: "it holds" };
  const session = { id: "s", title: "S", tasks: [task], acceptance_criteria: [criterion] };
  return {
    id,
    session_id: "sess_1",
    owns_session: true,
    workdir: "/w",
    spec: readSpec({ id: "m", name: "M", sessions: [session] }),
    options: { model: "a/b", approval: "auto", continue_on_failure: false, parallel: 2 },
    status: "running",
    created_at: AT,
    branch: { name: "svc/x", base: "abc" },
    cost_usd: 0,
  };
}

function test(name: string, run: (store: MissionStore, path: string) => void | Promise<void>) {
  Deno.test({
    name,
    ignore: !granted("read", "write") || Deno.build.os === "windows",
    async fn() {
      using dir = new TempDir();
      const path = dir.join("state.db");
      const store = new MissionStore(await openTestDb(path));
      try {
        await run(store, path);
      } finally {
        store.close();
      }
    },
  });
}

test("a mission is read back as it was written", (store) => {
  store.insert(mission("m-1"));
  assertEquals(store.get("m-1"), mission("m-1"));
  assertEquals(store.get("m-2"), undefined);
  assertEquals([...store.tasks("m-1").values()], [{
    task_id: "t",
    status: "pending",
    attempts: 0,
  }]);
  assertEquals([...store.criteria("m-1").values()], [{ ac_id: "c", status: "pending" }]);
});

test("what is said of tasks and criteria is changed member by member", (store) => {
  store.insert(mission("m-1"));
  store.setTask("m-1", { task_id: "t", status: "running", attempts: 1, commit: "abc" });
  store.setTask("m-1", { task_id: "t", status: "pending", commit: undefined });
  assertEquals(store.tasks("m-1").get("t"), { task_id: "t", status: "pending", attempts: 1 });
  store.setCriterion("m-1", { ac_id: "c", tier: "T6", rewritten: { command: "x" } });
  assertEquals(store.criteria("m-1").get("c"), {
    ac_id: "c",
    status: "pending",
    tier: "T6",
    rewritten: { command: "x" },
  });
});

test(
  "a mission ends once, and a daemon has to do with it until it is released",
  async (store, path) => {
    store.insert(mission("m-1"));
    assertEquals(store.finish("m-1", "failed", "why", AT), true);
    assertEquals(store.finish("m-1", "completed", undefined, AT), false);
    assertEquals(store.get("m-1")?.error, "why");
    const db = await openTestDb(path);
    assertEquals(hasUnfinishedMissions(db), true);
    store.release("m-1");
    assertEquals(hasUnfinishedMissions(db), false);
    db.close();
  },
);

test("a reopened mission keeps what is done and has the rest before it", (store) => {
  const { spec, ...rest } = mission("m-1");
  const [session] = spec.sessions;
  const tasks = ["t", "u"].map((id) => ({ ...session.tasks[0], id }));
  store.insert({ ...rest, spec: { ...spec, sessions: [{ ...session, tasks }] } });
  store.setTask("m-1", { task_id: "t", status: "completed" });
  store.setTask("m-1", { task_id: "u", status: "failed", attempts: 2, error: "why" });
  store.setCriterion("m-1", { ac_id: "c", status: "failed" });
  store.finish("m-1", "failed", "why", AT);
  store.release("m-1");
  store.reopen("m-1", { session_id: "sess_2", owns_session: false }, rest.options);
  const { status, error, session_id } = store.get("m-1")!;
  assertEquals([status, error, session_id], ["running", undefined, "sess_2"]);
  assertEquals([...store.tasks("m-1").values()].map((it) => [it.status, it.attempts]), [
    ["completed", 0],
    ["pending", 0],
  ]);
  assertEquals(store.criteria("m-1").get("c")?.status, "pending");
  assertEquals(store.unfinished().map(({ id }) => id), ["m-1"]);
});

test("lists are newest first, page by page", (store) => {
  for (const n of [1, 2, 3]) store.insert(mission(`m-${n}`));
  store.finish("m-2", "completed", undefined, AT);
  const page = store.list({ limit: 2 });
  assertEquals([page.missions.map(({ id }) => id), page.next], [["m-3", "m-2"], "m-2"]);
  assertEquals(store.list({ limit: 2, before: page.next }).missions.map(({ id }) => id), ["m-1"]);
  const running = store.list({ status: "running", limit: 9 });
  assertEquals(running.missions.map(({ id }) => id), ["m-3", "m-1"]);
});

test("a log is read from its end, or on from a line", (store) => {
  store.insert(mission("m-1"));
  const seqs = [1, 2, 3].map((n) => store.log("m-1", AT, { event: `e${n}`, task_id: "t" }));
  store.log("m-2", AT, { event: "another's" });
  const events = (options: { since_seq?: number; limit: number }) =>
    store.logs("m-1", options).map(({ event }) => event);
  assertEquals(events({ limit: 2 }), ["e2", "e3"]);
  assertEquals(events({ since_seq: seqs[0], limit: 1 }), ["e2"]);
});

test("a budget is spent to its end, also over a restart", (store) => {
  store.insert(mission("m-1"));
  const options = { mission_id: "m-1", limit_usd: 1 };
  const first = new Budget(store, { ...options, spent_usd: 0 });
  first.spend(0.75);
  assertEquals([first.remaining(), first.exceeded.aborted], [0.25, false]);
  const second = new Budget(store, { ...options, spent_usd: store.get("m-1")!.cost_usd });
  second.spend(0.25);
  assertEquals(second.exceeded.aborted, true);
  assertThrows(() => second.remaining(), SvcError, "budget of $1 is spent");
  assertEquals(store.get("m-1")!.cost_usd, 1);
});
