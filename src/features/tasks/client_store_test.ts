import { assertEquals, assertThrows } from "@std/assert";
import { granted } from "../../../tests/support/permissions.ts";
import { TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import type { TaskClient } from "./client_store.ts";
import { TaskStore } from "./store.ts";

const ignore = !granted("read", "write");
const START = Date.parse("2026-01-01T00:00:00Z");

/** A store with tasks that `a` asked for, a second apart, and one of `b`. */
class Bench implements Disposable {
  readonly dir = new TempDir();
  store!: TaskStore;

  static async open(): Promise<Bench> {
    const bench = new Bench();
    bench.store = new TaskStore(await openTestDb(bench.dir.join("state.db")));
    return bench;
  }

  /** @returns the id of the task that came of it. */
  ask(id: string, client: Partial<TaskClient>, at_s = 0): string {
    const whole = {
      key_id: "a",
      request_id: id,
      context_id: "c",
      message: { said: id },
      ...client,
    };
    const request = { task_type: "code", query: "q" };
    const task = { id, mode: "queue", request, hired: true, max_attempts: 1 } as const;
    return this.store.insert([{ ...task, client: whole }], START + at_s * 1000)[0];
  }

  [Symbol.dispose](): void {
    this.store.close();
    this.dir[Symbol.dispose]();
  }
}

Deno.test({
  name: "the same request of the same client is one task",
  ignore,
  async fn() {
    using bench = await Bench.open();
    assertEquals(bench.ask("t-1", { request_id: "r" }), "t-1");
    assertEquals(bench.ask("t-2", { request_id: "r" }), "t-1");
    assertEquals(bench.ask("t-3", { request_id: "r", key_id: "b" }), "t-3");
    assertEquals(bench.store.counts().queued, 2);
    const { clients } = bench.store;
    assertEquals(clients.taskOf({ key_id: "a", request_id: "r" }), "t-1");
    assertEquals(clients.taskOf({ key_id: "c", request_id: "r" }), undefined);
    assertEquals(bench.store.clients.get("t-1")?.message, { said: "t-1" });
    assertEquals(bench.store.clients.get("t-2"), undefined);
  },
});

Deno.test({
  name: "a client's tasks are listed by their last change, page by page",
  ignore,
  async fn() {
    using bench = await Bench.open();
    ["t-1", "t-2", "t-3", "t-4"].forEach((id, at) => bench.ask(id, {}, at));
    bench.ask("t-5", { key_id: "b" }, 9);
    bench.ask("t-6", { context_id: "d" }, 4);
    // It changes, and so comes first.
    bench.store.cancel("t-1", START + 5_000);
    const { clients } = bench.store;
    const all = clients.list({ key_id: "a", limit: 10 });
    assertEquals(all, {
      ids: ["t-1", "t-6", "t-4", "t-3", "t-2"],
      total: 5,
      next_cursor: undefined,
    });
    const first = clients.list({ key_id: "a", limit: 2 });
    assertEquals([first.ids, first.total], [["t-1", "t-6"], 5]);
    const rest = clients.list({ key_id: "a", limit: 3, cursor: first.next_cursor });
    assertEquals([rest.ids, rest.next_cursor], [["t-4", "t-3", "t-2"], undefined]);

    const ids = (query: Record<string, unknown>) =>
      clients.list({ key_id: "a", limit: 10, ...query }).ids;
    assertEquals(ids({ context_id: "d" }), ["t-6"]);
    assertEquals(ids({ status: "failed", cancelled: true }), ["t-1"]);
    assertEquals(ids({ status: "failed", cancelled: false }), []);
    assertEquals(ids({ changed_since: "2026-01-01T00:00:04.000Z" }), ["t-1", "t-6"]);
    assertEquals(ids({ key_id: "c" }), []);
    for (const cursor of ["", "x", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z_x"]) {
      assertThrows(() => ids({ cursor }), SvcError, "page token");
    }
  },
});

Deno.test({
  name: "what a client knew its task by is forgotten with the task",
  ignore,
  async fn() {
    using bench = await Bench.open();
    bench.ask("t-1", {});
    bench.store.cancel("t-1", START);
    assertEquals(bench.store.prune(0), ["t-1"]);
    assertEquals(bench.store.clients.get("t-1"), undefined);
    assertEquals(bench.ask("t-2", { request_id: "t-1" }), "t-2");
  },
});
