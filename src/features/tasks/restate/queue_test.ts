import { assert, assertEquals } from "@std/assert";
import type { TaskRecord } from "../task.ts";
import type { Enter, Entered, Entry, Move } from "./api.ts";
import { ANNOUNCED_MS, AT_ONCE_MAX, emptyQueue, pageOf, Queue, type QueueData } from "./queue.ts";

const HOUR_MS = 3_600_000;

/** A queue whose state passes through JSON at each step, as the object keeps it. */
class Line {
  now = Date.UTC(2030, 0, 1);
  data: QueueData = emptyQueue();
  readonly parts = new Map<string, string[]>();
  readonly pages = new Map<number, Map<number, Entry>>();
  readonly granted: string[] = [];
  readonly dropped: number[] = [];
  readonly #known = new Map<string, { entered: Enter; seq: number }>();
  readonly #keep?: number;

  constructor(keep?: number) {
    this.#keep = keep;
  }

  async step<T>(take: (queue: Queue) => T | Promise<T>): Promise<T> {
    const data = structuredClone(this.data);
    const queue = new Queue(data, {
      get: (name) => Promise.resolve(this.parts.get(name) ?? null),
      set: (name, ids) =>
        void (ids.length === 0 ? this.parts.delete(name) : this.parts.set(name, ids)),
    }, {
      grant: (id) => void this.granted.push(id),
      put: (page, entries) => {
        const kept = this.pages.get(page) ?? new Map<number, Entry>();
        for (const entry of entries) kept.set(entry.seq, entry);
        this.pages.set(page, kept);
        return Promise.resolve();
      },
      drop: (page) => void this.dropped.push(page),
    }, this.#keep);
    const result = await take(queue);
    this.data = JSON.parse(JSON.stringify(data));
    return result;
  }

  announce(slots: number, process = "p"): Promise<void> {
    return this.step((queue) => queue.announce({ process, slots, now: this.now }));
  }

  async enter(id: string, more: Partial<Enter> = {}): Promise<Entered> {
    const input: Enter = { id, mode: "queue", hired: true, bytes: 10, now: this.now, ...more };
    const entered = await this.step((queue) => queue.enter(input));
    if (!("refused" in entered)) {
      this.#known.set(id, { entered: input, seq: entered.seq });
      if (entered.granted && input.mode === "queue") this.granted.push(id);
    }
    return entered;
  }

  move(id: string, from: Move["from"], to: Move["to"], more: Partial<Move> = {}): Promise<void> {
    const { entered: { mode, hired, owner }, seq } = this.#known.get(id)!;
    const input = { id, seq, mode, hired, owner, from, to, now: this.now, ...more };
    return this.step((queue) => queue.move(input));
  }

  end(id: string, record: Partial<TaskRecord> = {}): Promise<void> {
    return this.move(id, "running", "ended", { record: completed(id, record) });
  }

  missed(id: string, turn = "h"): Promise<void> {
    return this.step((queue) => queue.missed({ id, turn, now: this.now }));
  }

  /** Counts and busy tasks, in the order of a task's life. */
  counts(): number[] {
    const { queued, running, completed, failed } = this.data.counts;
    return [queued, running, completed, failed, this.data.busy];
  }

  async workers(): Promise<number> {
    return (await this.step((queue) => queue.state(this.now))).workers;
  }
}

function completed(id: string, more: Partial<TaskRecord> = {}): TaskRecord {
  return { id, status: "completed", task_type: "echo", created_at: "", attempts: 1, ...more };
}

/** Enters tasks one after another. */
async function enterAll(line: Line, ids: readonly string[], more: Partial<Enter> = {}) {
  for (const id of ids) await line.enter(id, more);
}

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`);
}

Deno.test("owners take turns, each with its oldest task first", async () => {
  const line = new Line();
  await enterAll(line, ["a1", "a2", "a3", "a4"], { owner: "a" });
  await enterAll(line, ["b1", "b2"], { owner: "b" });
  await enterAll(line, ["h1"]);
  await enterAll(line, ["o1", "o2"], { hired: false });
  assertEquals(line.granted, []);
  assertEquals(line.counts(), [9, 0, 0, 0, 0]);
  await line.announce(1);
  for (let n = 0; n < 9; n++) await line.end(line.granted[n]);
  const turns = line.granted.map((id) => id[0]).join("");
  assertEquals([...turns.slice(0, 4)].sort().join(""), "abho");
  assertEquals([...turns.slice(4, 7)].sort().join(""), "abo");
  assertEquals(turns.slice(7), "aa");
  for (const letter of "abo") {
    const own = line.granted.filter((id) => id[0] === letter);
    assertEquals(own, own.toSorted());
  }
  assertEquals(line.counts(), [0, 0, 9, 0, 0]);
});

Deno.test("a long line passes through its parts, and leaves none behind", async () => {
  const line = new Line();
  const ids = numbered("a", 250);
  await enterAll(line, ids);
  assertEquals([...line.parts.values()].map((it) => it.length), [100, 100, 50]);
  await line.announce(3);
  for (let n = 0; n < ids.length; n++) await line.end(line.granted[n]);
  assertEquals(line.granted, ids);
  assertEquals(line.counts(), [0, 0, 250, 0, 0]);
  // The part that is not full is kept, and used again.
  assertEquals([...line.parts.values()].map((it) => it.length), [50]);
  await enterAll(line, numbered("b", 60));
  for (let n = 250; n < 310; n++) await line.end(line.granted[n]);
  assertEquals(line.granted.slice(250), numbered("b", 60));
  assert(line.parts.size <= 1);
});

Deno.test("the place of a task that ended in line is skipped, and forgotten", async () => {
  const line = new Line();
  await enterAll(line, ["a", "b", "c"]);
  await line.move("a", "line", "ended");
  await line.move("b", "line", "ended");
  assertEquals(line.counts(), [1, 0, 0, 2, 0]);
  await line.announce(1);
  assertEquals(line.granted, ["c"]);
  assertEquals(line.data.gone, []);
  assertEquals(line.counts(), [0, 1, 0, 2, 1]);
});

Deno.test("a turn that comes too late is taken back, whichever is heard of first", async () => {
  for (const end_first of [true, false]) {
    const line = new Line();
    await line.announce(1);
    await enterAll(line, ["a", "b"]);
    assertEquals(line.granted, ["a"]);
    if (end_first) {
      await line.move("a", "line", "ended");
      assertEquals(line.counts(), [0, 1, 0, 1, 1]);
      await line.missed("a");
    } else {
      await line.missed("a");
      await line.move("a", "line", "ended");
    }
    assertEquals(line.granted, ["a", "b"]);
    assertEquals(line.counts(), [0, 1, 0, 1, 1]);
    await line.end("b");
    assertEquals(line.counts(), [0, 0, 1, 1, 0]);
  }
});

Deno.test("a task waits for its retry without a turn, then behind the others", async () => {
  const line = new Line();
  await line.announce(1);
  await enterAll(line, ["a", "b", "c"]);
  await line.move("a", "running", "backoff");
  assertEquals([line.granted, line.counts()], [["a", "b"], [2, 1, 0, 0, 1]]);
  await line.move("a", "backoff", "line");
  await line.end("b");
  await line.end("c");
  assertEquals(line.granted, ["a", "b", "c", "a"]);
  await line.move("a", "running", "backoff");
  await line.move("a", "backoff", "ended");
  assertEquals(line.counts(), [0, 0, 2, 1, 0]);
  assertEquals(line.data.gone, []);
});

Deno.test("one that a client waits for needs no turn and no worker", async () => {
  const line = new Line();
  await line.step((queue) => queue.set({ now: line.now, paused: true }));
  assertEquals(await line.enter("a", { mode: "sync" }), { seq: 1, granted: true });
  assertEquals(line.counts(), [0, 1, 0, 0, 0]);
  await line.end("a");
  assertEquals(line.counts(), [0, 0, 1, 0, 0]);
});

Deno.test("each limit of an owner refuses what exceeds it, and no other's task", async () => {
  const line = new Line();
  const details = async (id: string, more: Partial<Enter>) => {
    const entered = await line.enter(id, { owner: "a", ...more });
    if (!("refused" in entered)) return undefined;
    assertEquals(entered.refused.code, "budget_exceeded");
    const { limit, value } = entered.refused.details!;
    return [limit, value];
  };
  const queued = { quota: { max_queued: 2 } };
  assertEquals(await details("q1", queued), undefined);
  assertEquals(await details("q2", queued), undefined);
  assertEquals(await details("q3", queued), ["max_queued", 2]);
  assertEquals(await details("q4", { ...queued, owner: "b" }), undefined);
  assertEquals(await details("q5", { ...queued, hired: false, owner: undefined }), undefined);
  assertEquals(await details("s1", { ...queued, mode: "sync" }), undefined);

  const running = { mode: "sync" as const, quota: { max_running: 2 } };
  assertEquals(await details("s2", running), undefined);
  assertEquals(await details("s3", running), ["max_running", 2]);
  await line.end("s2");
  assertEquals(await details("s4", running), undefined);

  // Its five tasks took 10 bytes each.
  const bytes = { quota: { max_bytes: 160 }, bytes: 10 };
  await line.end("s4", {
    artifacts: [{ name: "a", media_type: "text/plain", size: 90, sha256: "", url: "" }],
  });
  assertEquals(await details("b1", bytes), undefined);
  assertEquals(await details("b2", { ...bytes, bytes: 11 }), ["max_bytes", 160]);
  assertEquals(line.data.next_seq - 1, 8, "refused ones have no number");
});

Deno.test("what was spent counts for a day", async () => {
  const line = new Line();
  const quota = { max_usd_day: 1 };
  await line.enter("a", { owner: "a", quota });
  await line.end("a", { usage: { usd: 0.6 } });
  line.now += 2 * HOUR_MS;
  await line.enter("b", { owner: "a", quota });
  await line.end("b", { usage: { usd: 0.6 } });
  const entered = await line.enter("c", { owner: "a", quota });
  assert("refused" in entered);
  assertEquals(entered.refused.details, {
    limit: "max_usd_day",
    value: 1,
    retry_after_s: 22 * 3_600,
  });
  assert("seq" in await line.enter("d", { owner: "b", quota }));
  line.now += 22 * HOUR_MS;
  assert("seq" in await line.enter("e", { owner: "a", quota }));
});

Deno.test("entries are flushed to their pages, an end with its record unless it is large", async () => {
  const line = new Line();
  const ids = numbered("a", 230);
  await line.announce(64);
  await enterAll(line, ids);
  const large = { summary: "x".repeat(5_000) };
  await line.end("a0", { size: 1 });
  await line.end("a1", large);
  await enterAll(line, numbered("b", 30), { hired: false });
  assertEquals([...line.pages.keys()].sort(), [0, 1, 2]);
  const shown = new Map([...line.pages.values()].flatMap((page) => [...page]));
  for (const entry of line.data.fresh) shown.set(entry.seq, entry);
  assertEquals([...shown.keys()].sort((a, b) => a - b), numbered("", 260).map((n) => +n + 1));
  for (const [page, entries] of line.pages) {
    assert([...entries.keys()].every((seq) => pageOf(seq) === page));
  }
  assertEquals(shown.get(1)!.record, completed("a0", { size: 1 }));
  assertEquals([shown.get(2)!.ended, shown.get(2)!.record], ["completed", undefined]);
  assertEquals([shown.get(3)!.ended, shown.get(3)!.turn], [undefined, "h"]);
});

Deno.test("old pages are tried once there are more ended tasks than are kept", async () => {
  const line = new Line(100);
  await line.announce(64);
  for (const id of numbered("a", 119)) {
    await line.enter(id, { owner: "a" });
    await line.end(id);
  }
  assertEquals(line.dropped, []);
  await line.enter("x", { owner: "a" });
  await line.end("x");
  assertEquals(line.dropped, [0]);
  await line.step((queue) =>
    queue.dropped({ page: 0, ended: { completed: 99, failed: 0 }, bytes: { "k a": 990 } })
  );
  assertEquals(line.counts(), [0, 0, 21, 0, 0]);
  assertEquals([line.data.oldest_seq, line.data.owners["k a"].bytes], [100, 210]);
  await line.step((queue) =>
    queue.dropped({ page: 1, ended: { completed: 21, failed: 0 }, bytes: { "k a": 210 } })
  );
  assertEquals(line.data.owners, {}, "an owner without tasks takes no space");
});

Deno.test("a worker that is not heard of any more does not count; one that stops at once", async () => {
  const line = new Line();
  await line.announce(2, "p");
  await line.announce(3, "q");
  assertEquals(await line.workers(), 5);
  line.now += ANNOUNCED_MS - 1;
  await line.announce(3, "q");
  line.now += 2;
  assertEquals(await line.workers(), 3, "p is silent");
  await line.announce(3, "q");
  assertEquals(Object.keys(line.data.processes), ["q"]);
  await line.announce(0, "q");
  assertEquals(await line.workers(), 0);
  await line.enter("a");
  assertEquals(line.granted, []);
  await line.announce(1, "r");
  assertEquals(line.granted, ["a"]);
  await line.move("a", "running", "line", { lost: "r" });
  assertEquals([await line.workers(), line.counts()], [0, [1, 0, 0, 0, 0]]);
});

Deno.test("the operator's limit and a pause hold back turns until they are lifted", async () => {
  const line = new Line();
  await line.announce(8);
  const set = (change: { paused?: boolean; workers?: number }) =>
    line.step((queue) => queue.set({ now: line.now, ...change }));
  await set({ workers: 1 });
  await set({ workers: 1 });
  await enterAll(line, ["a", "b", "c", "d"]);
  assertEquals([line.granted, await line.workers()], [["a"], 1]);
  await set({ paused: true });
  await set({ workers: 3 });
  assertEquals(line.granted, ["a"]);
  await set({ paused: false });
  assertEquals(line.granted, ["a", "b", "c"]);
  await set({ workers: 0 });
  await line.end("a");
  await line.end("b");
  assertEquals([line.granted.length, line.counts()], [3, [1, 1, 2, 0, 1]]);
  await set({ workers: 64 });
  assertEquals([line.granted.length, await line.workers()], [4, 8]);
  const lines = line.data.lines.map(({ event, detail }) => `${event} ${detail}`);
  assertEquals(lines, [
    "workers 1",
    "paused true",
    "workers 3",
    "resumed false",
    "workers 0",
    "workers 64",
  ]);
});

Deno.test("attempts leave room for the calls that they make", async () => {
  const line = new Line();
  await line.announce(AT_ONCE_MAX * 2);
  for (let n = 0; n < AT_ONCE_MAX; n++) await line.enter(`s${n}`, { mode: "sync" });
  const refused = await line.enter("more", { mode: "sync" });
  assert("refused" in refused && refused.refused.code === "unavailable", JSON.stringify(refused));
  for (let n = 0; n < AT_ONCE_MAX + 1; n++) await line.enter(`q${n}`);
  assertEquals(line.granted.length, AT_ONCE_MAX);
  await line.end("s0");
  assert(!("refused" in await line.enter("more", { mode: "sync" })));
});
