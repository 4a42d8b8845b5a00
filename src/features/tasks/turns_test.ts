import { assert, assertEquals } from "@std/assert";
import type { DatabaseSync } from "node:sqlite";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import type { NewTask, Settlement, StartedTask } from "./lifecycle.ts";
import { TaskStore } from "./store.ts";

const ignore = !granted("read", "write");
const NOW = Date.parse("2026-01-01T00:00:00.000Z");
const HORIZON_MS = 60_000;

/** Tasks `a1`, `a2`, … of an owner; those of "operator" are not hired, "anyone" has no token. */
function tasksOf(owner: string, count: number): NewTask[] {
  const request = { task_type: "research", query: "x" };
  const whose = owner === "operator"
    ? { hired: false }
    : { hired: true, owner: owner === "anyone" ? undefined : owner };
  return Array.from(
    { length: count },
    (_, n) => ({ id: `${owner}${n + 1}`, mode: "queue", request, max_attempts: 9, ...whose }),
  );
}

/** The next `count` tasks that one worker starts and completes. */
function started(store: TaskStore, count: number, now = NOW): string[] {
  return Array.from({ length: count }, () => {
    const task = store.claim(now, HORIZON_MS);
    if (task === undefined) return "none";
    const outcome = { kind: "completed", summary: "", size: 0, extras: "{}" } as const;
    store.settle([{ id: task.id, attempt: task.attempt, outcome }], now);
    return task.id;
  });
}

/** An attempt that another one is to follow. */
function later({ id, attempt }: StartedTask, not_before: number): Settlement {
  return { id, attempt, outcome: { kind: "retry", error: "later", not_before } };
}

/** A store with these tasks, and its database. */
async function storeOf(dir: TempDir, ...tasks: NewTask[][]): Promise<[TaskStore, DatabaseSync]> {
  const db = await openTestDb(dir.join("state.db"));
  const store = new TaskStore(db);
  store.insert(tasks.flat(), NOW);
  return [store, db];
}

Deno.test({
  name: "owners take turns, each with its oldest task, whoever came first and with however many",
  ignore,
  async fn() {
    using dir = new TempDir();
    const [store] = await storeOf(
      dir,
      tasksOf("a", 5),
      tasksOf("b", 2),
      tasksOf("operator", 3),
      tasksOf("anyone", 1),
    );
    assertEquals(started(store, 12), [
      ...["operator1", "anyone1", "a1", "b1"],
      ...["operator2", "a2", "b2"],
      ...["operator3", "a3"],
      ...["a4", "a5", "none"],
    ]);
    store.close();
  },
});

Deno.test({
  name: "a late first task of one owner starts next; of the same owner, it starts last",
  ignore,
  async fn() {
    using dir = new TempDir();
    const [store] = await storeOf(dir, tasksOf("a", 30));
    assertEquals(started(store, 3), ["a1", "a2", "a3"]);
    store.insert([...tasksOf("b", 1), { ...tasksOf("a", 1)[0], id: "late" }], NOW);
    const rest = started(store, 29);
    assertEquals([rest[0], rest.at(-1)], ["b1", "late"]);
    store.close();
  },
});

Deno.test({
  name: "a task that waits for its retry holds up no other, and has its turn when it is due",
  ignore,
  async fn() {
    using dir = new TempDir();
    const [store] = await storeOf(dir, tasksOf("a", 3), tasksOf("b", 2));
    const first = store.claim(NOW, HORIZON_MS)!;
    assertEquals(first.id, "a1");
    store.settle([later(first, NOW + 1_000)], NOW);
    assertEquals(started(store, 2), ["b1", "a2"]);
    assertEquals(store.nextDue(), NOW + 1_000);
    assertEquals(started(store, 1, NOW + 999), ["b2"]);
    assertEquals(started(store, 3, NOW + 1_000), ["a1", "a3", "none"]);
    assertEquals(store.nextDue(), undefined);
    store.close();
  },
});

Deno.test({
  name: "a retry from before the clock jumped back is due",
  ignore,
  async fn() {
    using dir = new TempDir();
    const [store] = await storeOf(dir, tasksOf("a", 2));
    const [one, two] = [store.claim(NOW, HORIZON_MS)!, store.claim(NOW, HORIZON_MS)!];
    store.settle([
      later(one, NOW + HORIZON_MS + 1),
      later(two, NOW + HORIZON_MS),
    ], NOW);
    assertEquals(started(store, 2), ["a1", "none"]);
    store.close();
  },
});

Deno.test({
  name: "with 100,000 queued and waiting tasks, a claim looks up single entries of indexes",
  ignore,
  async fn() {
    using dir = new TempDir();
    const [store, db] = await storeOf(dir, tasksOf("a", 1), tasksOf("b", 1));
    db.exec(`WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
      INSERT INTO tasks (id, mode, status, task_type, request, created_at, attempts, max_attempts,
        hired, owner, not_before)
      SELECT 'many' || n, 'queue', 'queued', 'research', '{}', '', 0, 1, 1, 'many',
        CASE WHEN n % 2 THEN 0 ELSE ${NOW + 1_000} END FROM n`);
    const asked: string[] = [];
    const prepare = db.prepare.bind(db);
    db.prepare = (sql: string) => {
      asked.push(sql);
      return prepare(sql);
    };
    assertEquals(started(store, 5), ["a1", "b1", "many1", "many3", "many5"]);
    store.nextDue();
    const plans = asked.filter((sql) => /^(SELECT|UPDATE|DELETE)/.test(sql))
      .map((sql) => [sql, prepare(`EXPLAIN QUERY PLAN ${sql}`).all().map(({ detail }) => detail)]);
    assert(plans.length >= 5, "the statements of a claim were seen");
    for (const [sql, plan] of plans) {
      const text = JSON.stringify(plan);
      assert(!/SCAN|TEMP B-TREE/.test(text), `${sql}: ${text}`);
    }
    const whole = "SELECT id FROM tasks WHERE status = 'queued' ORDER BY hired, seq";
    const control = JSON.stringify(prepare(`EXPLAIN QUERY PLAN ${whole}`).all());
    assert(/SCAN|TEMP B-TREE/.test(control), `the plan of a claim that sorts: ${control}`);
    store.close();
  },
});
