import { assertEquals, assertThrows } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import { TaskStore } from "./store.ts";

const ignore = !granted("read", "write");
const NOW = Date.parse("2026-01-01T00:00:00Z");
const HORIZON_MS = 64_000;

/** A store with one task. */
async function open(dir: TempDir): Promise<TaskStore> {
  const store = new TaskStore(await openTestDb(dir.join("state.db")));
  const request = { task_type: "code", query: "q" };
  store.insert([{ id: "t-1", mode: "queue", request, hired: true, max_attempts: 1 }], NOW);
  return store;
}

function callback(id: string, url = `https://${id}.example/`) {
  return { id, url, key_id: "k" };
}

Deno.test({
  name: "a task has several callbacks, each known by its id, due when it has ended",
  ignore,
  async fn() {
    using dir = new TempDir();
    const store = await open(dir);
    const { callbacks } = store;
    callbacks.set("t-1", callback("a"));
    callbacks.set("t-1", { ...callback("b"), push: { version: "1.0" } });
    callbacks.set("t-1", callback("a", "https://other.example/"));
    callbacks.set("t-1", callback("c"));
    callbacks.remove("t-1", "c");
    callbacks.remove("t-1", "c");
    const kept = [
      callback("a", "https://other.example/"),
      { ...callback("b"), push: { version: "1.0" } },
    ];
    assertEquals(callbacks.of("t-1"), kept);
    assertEquals(callbacks.due(NOW, HORIZON_MS), []);

    store.cancel("t-1", NOW);
    assertEquals(
      callbacks.due(NOW, HORIZON_MS),
      kept.map((it) => ({ ...it, task_id: "t-1", tries: 0 })),
    );
    callbacks.postpone({ task_id: "t-1", id: "a" }, NOW + 1_000, "busy", NOW);
    assertEquals(callbacks.due(NOW, HORIZON_MS).map(({ id }) => id), ["b"]);
    callbacks.end({ task_id: "t-1", id: "b" }, "callback", "delivered", NOW);
    assertEquals(callbacks.nextDue(), NOW + 1_000);
    assertEquals(callbacks.of("t-1").map(({ id }) => id), ["a"]);
    store.close();
  },
});

Deno.test({
  name: "a task has so many callbacks and no more",
  ignore,
  async fn() {
    using dir = new TempDir();
    const store = await open(dir);
    for (let n = 0; n < 16; n++) store.callbacks.set("t-1", callback(`c${n}`));
    assertThrows(() => store.callbacks.set("t-1", callback("more")), SvcError, "16 callbacks");
    store.callbacks.set("t-1", callback("c0", "https://other.example/"));
    assertEquals(store.callbacks.of("t-1").length, 16);
    store.close();
  },
});
