import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { FakeClock } from "../../../tests/support/clock.ts";
import { granted } from "../../../tests/support/permissions.ts";
import { until } from "../../../tests/support/scripted.ts";
import { MemoryLog, TempDir } from "../../../tests/support/sessions.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import { stateDbFiles } from "../../os/state_db_files.ts";
import { GIVE_BACK_AFTER_MS, Pruning } from "./pruning.ts";
import { TaskStore } from "./store.ts";

const ignore = !granted("read", "write");
const KEPT = 100;

/** Ended tasks with large requests, and their lines in the log. */
function fill(db: DatabaseSync, count: number): void {
  db.exec(`BEGIN;
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${count})
    INSERT INTO tasks (id, mode, status, task_type, request, created_at, attempts, max_attempts)
    SELECT 't' || n, 'queue', 'completed', 'research',
      '{"query":"' || printf('%.*c', 4000, 'x') || '"}', '', 1, 1 FROM n;
    INSERT INTO task_log (at, task_id, event) SELECT '', id, 'completed' FROM tasks;
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE)`);
}

function bytesOf(path: string): number {
  return stateDbFiles(path).reduce((all, file) => {
    try {
      return all + Deno.statSync(file).size;
    } catch {
      return all;
    }
  }, 0);
}

/** What a crash at this moment would leave is whole. */
function assertWhole(dir: TempDir, path: string): void {
  const copy = dir.join("crashed.db");
  for (const [n, file] of stateDbFiles(path).entries()) {
    const to = stateDbFiles(copy)[n];
    try {
      // The shared memory is made anew from the write-ahead log.
      if (!file.endsWith("-shm")) Deno.copyFileSync(file, to);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  const db = new DatabaseSync(copy);
  assertEquals(Object.values(db.prepare("PRAGMA integrity_check").get()!), ["ok"]);
  assertEquals(db.prepare("SELECT count(*) AS n FROM tasks").get()!.n, KEPT);
  assertEquals(db.prepare("SELECT count(*) AS n FROM task_log").get()!.n, KEPT);
  db.close();
  for (const file of stateDbFiles(copy)) {
    try {
      Deno.removeSync(file);
    } catch {
      // It was not there.
    }
  }
}

for (const old of [false, true]) {
  Deno.test({
    name: `20,000 tasks pruned to 100: a ${
      old ? "database of an older svc" : "new database"
    } shrinks to less than a tenth, whole at a crash after each step`,
    ignore,
    async fn() {
      using dir = new TempDir();
      const path = dir.join("state.db");
      if (old) {
        const db = new DatabaseSync(path);
        db.exec("PRAGMA journal_mode = WAL; CREATE TABLE older (n)");
        db.close();
        Deno.chmodSync(path, 0o600);
      }
      const db = await openTestDb(path);
      const auto_vacuum = () => Object.values(db.prepare("PRAGMA auto_vacuum").get()!)[0];
      assertEquals(auto_vacuum(), old ? 0 : 2);
      fill(db, 20_000);
      const full = bytesOf(path);
      const store = new TaskStore(db);
      let steps = 0;
      const clock = new FakeClock();
      const log = new MemoryLog();
      let idle = false;
      const pruning = new Pruning({
        store: {
          prune: (keep) => store.prune(keep),
          get has_space() {
            return store.has_space;
          },
          giveBack() {
            if (steps++ % 8 === 0) assertWhole(dir, path);
            store.giveBack();
          },
        },
        artifacts: { tasks: () => Promise.resolve([]), remove: () => Promise.resolve() },
        log,
        clock,
        keep: KEPT,
        idle: () => idle,
      });
      for (let n = 0; n < 20; n++) pruning.prune();
      assert(bytesOf(path) >= full, "control: pruning alone returns nothing");
      await clock.advance(GIVE_BACK_AFTER_MS);
      assertEquals(steps, 0, "nothing is done while tasks run");
      idle = true;
      await clock.advance(GIVE_BACK_AFTER_MS);
      await until(() => !store.has_space, "the return of the space", 600_000);
      await pruning.close();
      assertEquals(log.lines, []);
      assertEquals(clock.waiting, 0);
      assert(bytesOf(path) < full / 10, `${full} bytes became ${bytesOf(path)}`);
      assertWhole(dir, path);
      assertEquals([auto_vacuum(), steps === 1], [2, old]);
      store.close();
    },
  });
}

Deno.test({
  name: "a large database of an older svc is not rewritten at once",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("state.db");
    const older = new DatabaseSync(path);
    older.exec("PRAGMA journal_mode = WAL; CREATE TABLE older (n)");
    older.close();
    Deno.chmodSync(path, 0o600);
    const db = await openTestDb(path);
    fill(db, 20_000);
    const store = new TaskStore(db);
    for (let n = 0; n < 15; n++) store.prune(5_000);
    assertEquals(store.has_space, false);
    for (let n = 0; n < 5; n++) store.prune(KEPT);
    assertEquals(store.has_space, true, "control: with little in use it is");
    store.close();
  },
});
