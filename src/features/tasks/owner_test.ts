import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import type { NewTask } from "./lifecycle.ts";
import { TaskStore } from "./store.ts";

const ignore = !granted("read", "write");
const NOW = Date.parse("2026-01-01T00:00:00.000Z");

function newTask(id: string, more: Partial<NewTask> = {}): NewTask {
  const request = { task_type: "research", query: "x" };
  return { id, mode: "queue", request, hired: true, max_attempts: 1, ...more };
}

/** Which of the tasks someone sees. */
function seenBy(store: TaskStore, ids: readonly string[], key: string | undefined): string[] {
  const owned_by = (owner: string | undefined) => owner === key;
  return ids.filter((id) => store.get(id, { hired: true, owned_by }) !== undefined);
}

Deno.test({
  name: "a task is seen by its owner; one of the operator's by no hirer",
  ignore,
  async fn() {
    using dir = new TempDir();
    const store = new TaskStore(await openTestDb(dir.join("state.db")));
    const tasks = [
      newTask("a", { owner: "one" }),
      newTask("b", { owner: "two" }),
      newTask("c"),
      newTask("d", { hired: false }),
    ];
    store.insert(tasks, NOW);
    const ids = tasks.map(({ id }) => id);
    assertEquals(seenBy(store, ids, "one"), ["a"]);
    assertEquals(seenBy(store, ids, "two"), ["b"]);
    assertEquals(seenBy(store, ids, undefined), ["c"]);
    assertEquals(ids.filter((id) => store.get(id) !== undefined), ids);
    assertEquals(Object.hasOwn(store.get("a")!, "owner"), false);
    store.close();
  },
});

Deno.test({
  name: "tasks from before there were owners get the one that their client or callback names",
  ignore,
  async fn() {
    using dir = new TempDir();
    const path = dir.join("state.db");
    const before = new TaskStore(await openTestDb(path));
    const client = { request_id: "r", context_id: "c", message: null };
    const callback = { id: "", url: "https://example.org/", key_id: "three" };
    before.insert([
      newTask("a2a", { client: { ...client, key_id: "one" } }),
      newTask("open", { client: { ...client, key_id: "" } }),
      newTask("told", { callback }),
      newTask("plain"),
    ], NOW);
    before.close();
    const db = new DatabaseSync(path);
    db.exec(`DROP INDEX tasks_by_turn;
      DROP INDEX tasks_with_work;
      ALTER TABLE tasks DROP COLUMN work;
      ALTER TABLE tasks DROP COLUMN owner;
      ALTER TABLE memory DROP COLUMN written_by;
      ALTER TABLE memory DROP COLUMN approved;
      PRAGMA user_version = 7`);
    db.close();

    const store = new TaskStore(await openTestDb(path));
    const ids = ["a2a", "open", "told", "plain"];
    assertEquals(seenBy(store, ids, "one"), ["a2a"]);
    assertEquals(seenBy(store, ids, "three"), ["told"]);
    assertEquals(seenBy(store, ids, undefined), ["open", "plain"]);
    store.close();
  },
});
