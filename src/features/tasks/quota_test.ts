import { assertEquals, assertInstanceOf } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Quota } from "./quota.ts";
import { TaskStore } from "./store.ts";
import type { TaskRecord } from "./task.ts";

const ignore = !granted("read", "write");
const START = Date.parse("2026-01-01T00:00:00Z");
const HOUR_S = 3_600;

class Bench implements Disposable {
  readonly dir = new TempDir();
  store!: TaskStore;
  #count = 0;

  static async open(): Promise<Bench> {
    const bench = new Bench();
    bench.store = new TaskStore(await openTestDb(bench.dir.join("state.db")));
    return bench;
  }

  /** Asks for a task. @returns its record, or the limit that refuses it and for how long. */
  ask(
    quota: Quota,
    at_s = 0,
    { owner = "a", hired = true, query = "q", mode = "queue" as "queue" | "sync" } = {},
  ): TaskRecord | [unknown, unknown] {
    const request = { task_type: "code", query };
    const task = { id: `t-${++this.#count}`, mode, request, hired, owner, max_attempts: 1 };
    const [result] = this.store.admit([{ task, quota }], START + at_s * 1000);
    if (!(result instanceof SvcError)) return this.store.get(result)!;
    return [result.details!.limit, result.details!.retry_after_s];
  }

  /** Runs a task to its end. */
  done(at_s: number, extras: unknown, owner = "a"): void {
    const { id } = this.ask({}, at_s, { owner, mode: "sync" }) as TaskRecord;
    const outcome = { kind: "completed", summary: "", size: 0, extras: JSON.stringify(extras) };
    this.store.settle([{ id, attempt: 1, outcome: outcome as never }], START + at_s * 1000);
  }

  [Symbol.dispose](): void {
    this.store.close();
    this.dir[Symbol.dispose]();
  }
}

function test(name: string, fn: (bench: Bench) => void): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      using bench = await Bench.open();
      fn(bench);
    },
  });
}

test("money that was spent a day ago counts no longer", (bench) => {
  const quota = { max_usd_day: 3 };
  bench.done(0, { usage: { usd: 1 } });
  bench.done(HOUR_S, { usage: { usd: 1.5 } });
  bench.done(HOUR_S, { usage: { usd: 9 } }, "b");
  bench.done(HOUR_S, { verification: [] });
  assertEquals((bench.ask(quota, HOUR_S) as TaskRecord).status, "queued");
  bench.done(2 * HOUR_S, { usage: { usd: 2.5 } });
  // The first two must be a day old.
  assertEquals(bench.ask(quota, 2 * HOUR_S), ["max_usd_day", 23 * HOUR_S]);
  assertEquals(bench.ask(quota, 25 * HOUR_S - 1), ["max_usd_day", 1]);
  assertEquals((bench.ask(quota, 25 * HOUR_S) as TaskRecord).status, "queued");
});

test("requests and artifacts count in bytes, those of the owner alone", (bench) => {
  const size = JSON.stringify({ task_type: "code", query: "q" }).length;
  bench.done(0, { artifacts: [{ name: "a", size: 100 }, { name: "b", size: 50 }] });
  bench.done(0, { artifacts: [{ name: "a", size: 100_000 }] }, "b");
  const used = size + 150;
  assertEquals(bench.ask({ max_bytes: used + size - 1 }), ["max_bytes", HOUR_S]);
  assertEquals(bench.ask({ max_bytes: used + size + 1 }, 0, { query: "äö" }), [
    "max_bytes",
    HOUR_S,
  ]);
  assertEquals((bench.ask({ max_bytes: used + size }) as TaskRecord).status, "queued");
});

test("the operator's own tasks do not count, and one batch is counted exactly", (bench) => {
  for (let n = 0; n < 5; n++) bench.ask({}, 0, { hired: false });
  const request = { task_type: "code", query: "q" };
  const arrivals = Array.from({ length: 5 }, (_, n) => ({
    task: { id: `t-b${n}`, mode: "queue", request, hired: true, max_attempts: 1 } as const,
    quota: { max_queued: 3, max_running: 1 },
  }));
  const results = bench.store.admit(arrivals, START);
  assertEquals(results.map((it) => it instanceof SvcError), [false, false, false, true, true]);
  assertInstanceOf(results[4], SvcError);
  assertEquals(results[4].message, "3 tasks are queued, and [hire] max_queued is 3");
  assertEquals(bench.store.counts().queued, 8);
  const sync = { mode: "sync" } as const;
  assertEquals((bench.ask({ max_running: 1 }, 0, sync) as TaskRecord).status, "running");
  assertEquals(bench.ask({ max_running: 1 }, 0, sync), ["max_running", 10]);
});
