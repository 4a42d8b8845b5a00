/** What every task engine does, whatever keeps its tasks. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { deadline } from "@std/async";
import { UndeliverableError } from "../../src/features/tasks/callbacks.ts";
import type { ClientQuery, TaskClient } from "../../src/features/tasks/client_store.ts";
import type { Quota } from "../../src/features/tasks/quota.ts";
import { RetryableError, type TaskLogEntry } from "../../src/features/tasks/task.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { toText } from "@std/streams";
import { callbackTo, type EngineBench, PATIENCE_MS } from "./task_engines.ts";

/** Where engines differ on purpose. */
export interface EngineTraits {
  /** The name of the machine in records; without it there is only this one. */
  worker?: string;
  /**
   * What becomes of a task whose client waits when the process stops: one machine has lost it; on
   * several, another worker resumes it, and the client can ask for it later.
   */
  waited_for: "lost" | "resumed";
  /** How often a task that a client waits for may start, because of workers that die. */
  waited_for_attempts: number;
  /** Whether an executor that does not stop keeps its worker from other tasks, for 8 s. */
  stuck_keeps_worker: boolean;
  /** Whether a client that has left before its task was accepted keeps the executor from starting. */
  left_never_starts: boolean;
  /** Whether `setWorkers` may ask for more than there are. */
  more_workers: boolean;
  /** How exact the time is after which spent money may be spent again. */
  day_s: number;
}

interface SuiteParts {
  name: string;
  ignore: boolean;
  /** Why resources of a test outlive it; absent when they do not. */
  leaks?: string;
  traits: EngineTraits;
  open(workers: number): Promise<EngineBench>;
}

const LISTED_MAX = 100;

/** Declares the tests for an engine. */
export function testTaskEngine({ name: engine_name, ignore, leaks, traits, open }: SuiteParts) {
  function test(name: string, fn: (bench: EngineBench) => Promise<void>, workers = 2): void {
    Deno.test({
      name: `${engine_name}: ${name}`,
      ignore,
      sanitizeOps: leaks === undefined,
      sanitizeResources: leaks === undefined,
      async fn() {
        await using bench = await open(workers);
        await deadline(fn(bench), PATIENCE_MS * 2);
      },
    });
  }

  const by = traits.worker === undefined ? {} : { worker: traits.worker };

  // ── states ───────────────────────────────────────────────────────────────────────────────────

  test("a record has the fields of its state, from queued to completed", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const request = {
      task_type: "manual",
      description: "d".repeat(400),
      effort: "minimal" as const,
    };
    const queued = await engine.enqueue(request, { hired: true });
    assert(/^t-[0-9A-Z]{26}$/.test(queued.id), queued.id);
    const { created_at } = queued;
    assertEquals(queued, {
      id: queued.id,
      status: "queued",
      task_type: "manual",
      effort: "minimal",
      subject: "d".repeat(300),
      hired: true,
      created_at,
      attempts: 0,
    });
    assertEquals(await engine.get(queued.id), queued);
    await engine.resume();
    const attempt = await bench.attempt(queued.id);
    assertEquals(attempt.request, request);
    assertEquals([attempt.hired, attempt.attempt], [true, 1]);
    const running = await engine.get(queued.id);
    const { started_at } = running;
    assertEquals(running, { ...queued, status: "running", started_at, attempts: 1 });
    attempt.note("half way");
    attempt.finish("the result");
    await bench.reach(queued.id, "completed");
    const completed = await engine.get(queued.id);
    const { completed_at } = completed;
    assertEquals(completed, {
      ...running,
      ...by,
      status: "completed",
      completed_at,
      summary: "the result",
      size: 10,
    });
    assert(created_at <= started_at! && started_at! <= completed_at!);
    assertEquals(await bench.events(queued.id), ["enqueued", "started", "note", "completed"]);
  });

  test("a failed task has its error, and the files that it has made", async (bench) => {
    const { engine } = bench;
    const attempt = await bench.start("x");
    await attempt.keep({ name: "why.txt", media_type: "text/plain", content: "because" });
    attempt.fail(new Error("no such thing"));
    await bench.reach(attempt.task_id, "failed");
    const { status, error, attempts, cancelled, summary, completed_at, artifacts } = await engine
      .get(attempt.task_id);
    assertEquals([status, error, attempts, cancelled, summary], [
      "failed",
      "no such thing",
      1,
      undefined,
      undefined,
    ]);
    assert(completed_at !== undefined);
    assertEquals(artifacts?.map(({ name, size }) => [name, size]), [["why.txt", 7]]);
    assertEquals(await bench.events(attempt.task_id), ["enqueued", "started", "failed"]);
  });

  test("an id that is given is used, also again; others are new", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const id = "t-01K00000000000000000000000";
    assertEquals((await engine.enqueue({ task_type: "echo" }, { id })).id, id);
    const all = await Promise.all(
      Array.from({ length: 30 }, () => engine.enqueue({ task_type: "echo" })),
    );
    assertEquals(new Set([id, ...all.map((it) => it.id)]).size, 31);
    const other = id.replace("K", "J");
    assertEquals((await engine.run({ task_type: "echo" }, { id: other })).id, other);
  });

  test("a request that cannot be served is refused, and leaves nothing", async (bench) => {
    const { engine } = bench;
    assertEquals(engine.task_types, ["manual", "echo", "files", "strict"]);
    for (const add of [engine.enqueue.bind(engine), engine.run.bind(engine)]) {
      const unknown = await assertRejects(() => add({ task_type: "ehco" }), SvcError);
      assertEquals([unknown.code, unknown.hint], ["validation", 'did you mean "echo"?']);
      await assertRejects(() => add({ task_type: "strict" }), SvcError, "not like that");
    }
    assertEquals((await engine.list({ limit: 9 })).tasks, []);
    const missing = "t-01K00000000000000000000000";
    for (
      const ask of [
        () => engine.get(missing),
        () => engine.cancel(missing),
        () => engine.steps(missing),
        () => engine.callbacks(missing),
        () => engine.setCallback(missing, callbackTo("http://a.example/")),
        () => engine.removeCallback(missing, ""),
        () => engine.openArtifact(missing, "a"),
        () => Array.fromAsync(engine.follow(missing, { since_seq: 0, signal: never() })),
      ]
    ) {
      const error = await assertRejects(async () => await ask(), SvcError, "there is no task");
      assertEquals(error.code, "not_found");
    }
    assertEquals(await engine.client(missing), undefined);
    assertEquals(await engine.taskOf({ key_id: "k", request_id: "r" }), undefined);
  });

  // ── the queue ────────────────────────────────────────────────────────────────────────────────

  test("workers take tasks in the order they came, as many at once as there are", async (bench) => {
    const { engine } = bench;
    for (const name of "abcdef") await bench.enqueue(name);
    await bench.until(() => bench.held.length === 2, "two attempts");
    await bench.counts({ workers: 2, busy: 2, queued: 4, running: 2, completed: 0, failed: 0 });
    assertEquals([...bench.taken()].sort().join(""), "ab");
    bench.held[1].finish();
    await bench.until(() => bench.held.length === 3, "the third");
    assertEquals(bench.held[2].request.description, "c");
    await engine.setWorkers(0);
    bench.held[0].finish();
    bench.held[2].finish();
    await bench.counts({ busy: 0, queued: 3, completed: 3 });
    assertEquals(bench.held.length, 3);
    await engine.setWorkers(1);
    for (const n of [3, 4, 5]) {
      await bench.until(() => bench.held.length > n, "the next");
      bench.held[n].finish();
    }
    await bench.counts({ workers: 1, busy: 0, completed: 6 });
    assertEquals(bench.taken().slice(2), "cdef");
    await engine.setWorkers(64);
    assertEquals((await engine.status()).workers, traits.more_workers ? 64 : 2);
    for (const count of [-1, 65, 1.5, NaN]) {
      await assertRejects(async () => await engine.setWorkers(count), SvcError, "0 to 64");
    }
  });

  test("paused, nothing is taken and running tasks go on, also after a restart", async (bench) => {
    const first = await bench.start("a");
    await bench.engine.pause();
    await bench.engine.pause();
    await bench.engine.setWorkers(1);
    const waiting = [await bench.enqueue("b"), await bench.enqueue("c")];
    first.finish();
    await bench.reach(first.task_id, "completed");
    await bench.counts({ paused: true, workers: 1, queued: 2, running: 0, busy: 0 });
    await bench.close();
    await bench.open();
    const status = await bench.engine.status();
    assertEquals([status.paused, status.workers], [true, 1]);
    assertEquals(bench.taken(), "a");
    await bench.engine.resume();
    await bench.attempt(waiting[0]);
    await bench.counts({ paused: false, queued: 1, running: 1 });
    const lines = await bench.engine.log({ n: 100 });
    const ofQueue = lines.filter(({ task_id }) => task_id === undefined);
    assertEquals(ofQueue.map(({ event, detail }) => [event, detail]), [
      ["paused", "true"],
      ["workers", "1"],
      ["resumed", "false"],
    ]);
  });

  test("owners take turns, however many tasks each has", async (bench) => {
    await bench.engine.pause();
    for (let n = 0; n < 5; n++) await bench.enqueue("a", { hired: true, owner: "one" });
    for (let n = 0; n < 2; n++) await bench.enqueue("b", { hired: true, owner: "two" });
    await bench.enqueue("c", { hired: true });
    await bench.enqueue("d");
    await bench.engine.resume();
    for (let n = 0; n < 9; n++) {
      await bench.until(() => bench.held.length > n, "the next");
      bench.held[n].finish();
    }
    const taken = bench.taken();
    assertEquals([...taken.slice(0, 4)].sort().join(""), "abcd");
    assertEquals([...taken.slice(4, 6)].sort().join(""), "ab");
    assertEquals(taken.slice(6), "aaa");
    await bench.counts({ completed: 9, busy: 0, queued: 0, running: 0 });
  }, 1);

  test("many tasks at once are each accepted, run and counted once", async (bench) => {
    const { engine } = bench;
    const records = await Promise.all(
      Array.from(
        { length: 40 },
        (_, n) => engine.enqueue({ task_type: "echo", description: `${n}` }, { owner: `${n % 7}` }),
      ),
    );
    await bench.counts({ completed: 40, queued: 0, running: 0, busy: 0, failed: 0 });
    for (const { id } of records) {
      assertEquals(await bench.events(id), ["enqueued", "started", "completed"]);
    }
  }, 8);

  test("tasks cancelled while they get their turn are counted once", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const ids = await Promise.all(Array.from({ length: 30 }, () => bench.enqueue()));
    const cancelled = Promise.all(ids.map((id) => engine.cancel(id)));
    await engine.resume();
    await cancelled;
    await bench.counts({ failed: 30, queued: 0, running: 0, busy: 0, completed: 0 });
    const last = await bench.start("last");
    last.finish();
    await bench.counts({ failed: 30, completed: 1, queued: 0, running: 0, busy: 0 });
  });

  // ── repeated requests ────────────────────────────────────────────────────────────────────────

  test("twenty equal requests of a client at once are one task", async (bench) => {
    const { engine } = bench;
    const client = clientOf("r-1");
    const add = (more = {}) => bench.engine.enqueue({ task_type: "manual" }, { client, ...more });
    const records = await Promise.all(Array.from({ length: 20 }, () => add()));
    const [{ id }] = records;
    assertEquals(new Set(records.map((it) => it.id)).size, 1);
    const attempt = await bench.attempt(id);
    assertEquals((await add()).status, "running");
    attempt.finish();
    await bench.reach(id, "completed");
    assertEquals((await add()).summary, "done");
    assertEquals(await engine.taskOf(client), id);
    assertEquals(await engine.client(id), client);
    await bench.close();
    await bench.open();
    assertEquals((await add()).id, id);
    // Controls: another id, another key.
    const others = [clientOf("r-2"), { ...client, key_id: "other" }];
    const ids = await Promise.all(others.map(async (client) => (await add({ client })).id));
    assertEquals(new Set([id, ...ids]).size, 3);
    assertEquals((await bench.engine.list({ limit: 9 })).tasks.length, 3);
  });

  test("twenty equal requests that wait are one task, which the first may cancel", async (bench) => {
    const { engine } = bench;
    const client = clientOf("r-1");
    const first = new AbortController();
    const request = { task_type: "manual" };
    const running = engine.run(request, { client, signal: first.signal });
    await bench.until(() => bench.held.length === 1, "the attempt");
    const [{ task_id }] = bench.held;
    const gone = new AbortController();
    const others = await Promise.all(
      Array.from({ length: 19 }, () => engine.run(request, { client, signal: gone.signal })),
    );
    gone.abort();
    for (const { id, status } of others) assertEquals([id, status], [task_id, "running"]);
    assertEquals((await engine.get(task_id)).status, "running");
    first.abort();
    const { id, error } = await running;
    assertEquals([id, error], [task_id, "cancelled by the client"]);
    assertEquals(bench.held.length, 1);
  });

  test("a refused request does not use up its id", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const quota = { max_queued: 1 };
    const add = (request_id: string) =>
      engine.enqueue({ task_type: "echo" }, { hired: true, quota, client: clientOf(request_id) });
    const { id } = await add("r-1");
    await assertRejects(() => add("r-2"), SvcError, "max_queued");
    assertEquals((await add("r-1")).id, id);
    await engine.cancel(id);
    const { status } = await add("r-2");
    assertEquals(status, "queued");
  });

  // ── cancelling ───────────────────────────────────────────────────────────────────────────────

  test("a task can be cancelled while it is queued, runs or waits for a retry", async (bench) => {
    const { engine } = bench;
    const running = await bench.start("running");
    const queued = await bench.enqueue("queued");
    const requireCancelled = async (id: string, attempts: number) => {
      const record = await engine.cancel(id);
      const { status, error, cancelled, summary } = record;
      assertEquals([status, error, cancelled, summary, record.attempts], [
        "failed",
        "cancelled",
        true,
        undefined,
        attempts,
      ]);
      assertEquals(await engine.cancel(id), record, "again: the same");
      assertEquals(await engine.get(id), record);
      assertEquals((await bench.events(id)).at(-1), "cancelled");
    };
    await requireCancelled(queued, 0);
    await requireCancelled(running.task_id, 1);
    assert(running.signal.aborted);
    running.finish("too late");
    const flaky = await bench.start("flaky");
    flaky.fail(new RetryableError("busy"));
    await bench.reach(flaky.task_id, "queued");
    await requireCancelled(flaky.task_id, 1);
    const done = await bench.start("done");
    done.finish();
    await bench.reach(done.task_id, "completed");
    const refused = await assertRejects(() => engine.cancel(done.task_id), SvcError);
    assertEquals([refused.code, refused.message], [
      "conflict",
      `task ${done.task_id} is already completed`,
    ]);
    const next = await bench.start("next");
    next.fail(new Error("broken"));
    await bench.reach(next.task_id, "failed");
    await assertRejects(() => engine.cancel(next.task_id), SvcError, "already failed");
    assertEquals(bench.taken(), "runningflakydonenext");
    await bench.counts({ failed: 4, completed: 1, queued: 0, running: 0, busy: 0 });
  }, 1);

  test("cancelling twenty times at once is cancelling once", async (bench) => {
    const { task_id } = await bench.start("x");
    const records = await Promise.all(
      Array.from({ length: 20 }, () => bench.engine.cancel(task_id)),
    );
    assertEquals(new Set(records.map((it) => it.completed_at)).size, 1);
    assertEquals(await bench.events(task_id), ["enqueued", "started", "cancelled"]);
    await bench.counts({ failed: 1, queued: 0, running: 0, busy: 0 });
  });

  test("an executor that ignores that its task was cancelled changes nothing", async (bench) => {
    bench.obedient = false;
    const stuck = await bench.start("stuck");
    const next = await bench.enqueue("next");
    const cancelling = bench.engine.cancel(stuck.task_id);
    await bench.reach(stuck.task_id, "failed");
    if (traits.stuck_keeps_worker) assertEquals(bench.taken(), "stuck");
    else await bench.attempt(next);
    stuck.finish("too late");
    assertEquals((await cancelling).error, "cancelled");
    await bench.attempt(next);
    assertEquals((await bench.engine.get(stuck.task_id)).error, "cancelled");
  }, 1);

  // ── deadlines ────────────────────────────────────────────────────────────────────────────────

  test("a task past its deadline fails, whether or not its executor obeys", async (bench) => {
    const { engine } = bench;
    for (const obedient of [true, false]) {
      bench.obedient = obedient;
      const from = bench.held.length;
      const running = engine.run({ task_type: "manual" }, { timeout_ms: 400 });
      const id = await bench.enqueue("queued", { timeout_ms: 400, max_attempts: 3 });
      const { status, error } = await running;
      assertEquals([status, error], ["failed", "deadline of 400ms exceeded"]);
      await bench.reach(id, "failed");
      assertEquals((await engine.get(id)).error, "deadline of 400ms exceeded");
      for (const { signal, finish } of bench.held.slice(from)) {
        assert(signal.aborted);
        finish("too late");
      }
    }
    await bench.counts({ failed: 4, busy: 0, running: 0, queued: 0 });
    assertEquals(bench.held.length, 4);
  });

  // ── attempts ─────────────────────────────────────────────────────────────────────────────────

  test("only a retryable error is tried again, until the attempts are used up", async (bench) => {
    const { engine } = bench;
    const id = await bench.enqueue("x", { max_attempts: 2 });
    (await bench.attempt(id)).fail(new RetryableError("busy"));
    await bench.reach(id, "queued");
    const { started_at, error, attempts, completed_at } = await engine.get(id);
    assertEquals([started_at, error, attempts, completed_at], [undefined, undefined, 1, undefined]);
    await bench.counts({ queued: 1, running: 0, busy: 0 });
    const second = await bench.attempt(id, 2);
    second.fail(new RetryableError("busy"));
    await bench.reach(id, "failed");
    assertEquals((await engine.get(id)).error, "busy (attempt 2 of 2)");
    const steps = (await engine.steps(id)).map(({ event, detail }) => [event, detail]);
    assertEquals(steps, [
      ["enqueued", "manual"],
      ["started", "attempt 1 of 2"],
      ["retry", "busy (attempt 1 of 2); retrying in 500ms"],
      ["started", "attempt 2 of 2"],
      ["failed", "busy (attempt 2 of 2)"],
    ]);
    const once = await bench.start("y", { max_attempts: 1 });
    once.fail(new RetryableError("busy"));
    await bench.reach(once.task_id, "failed");
    assertEquals((await engine.get(once.task_id)).error, "busy (attempt 1 of 1)");
    await bench.counts({ failed: 2, queued: 0, running: 0, busy: 0 });
  });

  test("a task waits for its retry without a worker, and comes before no other", async (bench) => {
    const flaky = await bench.start("a");
    const next = await bench.enqueue("b");
    flaky.fail(new RetryableError("busy"));
    const b = await bench.attempt(next);
    const last = await bench.enqueue("c");
    await bench.until(async () => (await bench.engine.status()).queued === 2, "both wait");
    const again = bench.attempt(flaky.task_id, 2);
    // By now the retry is due.
    await new Promise((resolve) => setTimeout(resolve, 700));
    b.finish();
    await bench.until(() => bench.held.length === 3, "the third attempt");
    bench.held[2].finish();
    await bench.until(() => bench.held.length === 4, "the fourth attempt");
    bench.held[3].finish();
    await again;
    await bench.reach(last, "completed");
    await bench.counts({ completed: 3, queued: 0, running: 0, busy: 0 });
  }, 1);

  test("a task that is waited for is not tried again", async (bench) => {
    const { engine } = bench;
    const running = engine.run({ task_type: "manual" });
    await bench.until(() => bench.held.length === 1, "the attempt");
    const [{ task_id, fail }] = bench.held;
    fail(new RetryableError("busy"));
    const { status, error, attempts } = await running;
    assertEquals([status, error, attempts], ["failed", "busy (attempt 1 of 1)", 1]);
    assertEquals((await engine.steps(task_id)).map(({ event, detail }) => [event, detail]), [
      ["started", `attempt 1 of ${traits.waited_for_attempts}`],
      ["failed", "busy (attempt 1 of 1)"],
    ]);
    await bench.counts({ failed: 1, queued: 0, running: 0, busy: 0 });
  });

  // ── tasks that are waited for ────────────────────────────────────────────────────────────────

  test("a task that is waited for needs no worker of the queue", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    await engine.setWorkers(0);
    const notes: string[] = [];
    const running = engine.run({ task_type: "manual" }, { onNote: (text) => notes.push(text) });
    await bench.until(() => bench.held.length === 1, "the attempt");
    await bench.counts({ running: 1, busy: 0 });
    bench.held[0].note("one");
    bench.held[0].note("two");
    bench.held[0].finish("hi");
    const record = await running;
    assertEquals([record.status, record.summary, notes], ["completed", "hi", ["one", "two"]]);
    assertEquals(await engine.get(record.id), record);
    assertEquals(await bench.events(record.id), ["started", "note", "note", "completed"]);
    await bench.counts({ completed: 1, running: 0, queued: 0, busy: 0 });
  });

  test("a client that leaves cancels its task, also one that has left before", async (bench) => {
    const { engine } = bench;
    const gone = new AbortController();
    const running = engine.run({ task_type: "manual" }, { signal: gone.signal });
    await bench.until(() => bench.held.length === 1, "the attempt");
    gone.abort();
    const record = await running;
    assertEquals([record.status, record.error, record.cancelled], [
      "failed",
      "cancelled by the client",
      true,
    ]);
    await bench.until(() => bench.held[0].signal.aborted, "the signal");
    assertEquals(await engine.get(record.id), record);
    const late = await engine.run({ task_type: "manual" }, { signal: gone.signal });
    assertEquals(late.error, "cancelled by the client");
    if (traits.left_never_starts) assertEquals(bench.held.length, 1);
    await bench.until(() => bench.held.every(({ signal }) => signal.aborted), "all are told");
    await bench.counts({ failed: 2, running: 0, busy: 0 });
  });

  // ── callbacks ────────────────────────────────────────────────────────────────────────────────

  test("callbacks are sent at the end: those of the request, and those set later", async (bench) => {
    const { engine } = bench;
    const callback = callbackTo("http://a.example/");
    const { task_id, finish } = await bench.start("x", { callback });
    const push = { token: "t" };
    await engine.setCallback(task_id, { ...callbackTo("http://c.example/", "c"), push });
    await engine.setCallback(task_id, callbackTo("http://old.example/", "b"));
    await engine.setCallback(task_id, callbackTo("http://d.example/", "d"));
    await engine.setCallback(task_id, callbackTo("http://b.example/", "b"));
    await engine.removeCallback(task_id, "d");
    await engine.removeCallback(task_id, "none");
    assertEquals(await engine.callbacks(task_id), [
      callback,
      callbackTo("http://b.example/", "b"),
      { ...callbackTo("http://c.example/", "c"), push },
    ]);
    assertEquals(bench.delivered, []);
    finish();
    await bench.until(async () => (await engine.callbacks(task_id)).length === 0, "all are sent");
    assertEquals(bench.delivered.sort(), [
      "http://a.example/  completed",
      "http://b.example/ b completed",
      "http://c.example/ c completed",
    ]);
    // After the end, at once.
    await engine.setCallback(task_id, callbackTo("http://e.example/", "e"));
    await bench.until(() => bench.delivered.length === 4, "the late one");
    await bench.until(async () => (await bench.events(task_id)).length === 7, "its line");
    assertEquals((await bench.events(task_id)).slice(2), [
      "completed",
      ...Array(4).fill("callback"),
    ]);
  });

  test("callbacks of failed, cancelled and waited for tasks are sent, too", async (bench) => {
    const { engine } = bench;
    const callback = callbackTo("http://a.example/");
    const failing = await bench.start("x", { callback });
    failing.fail(new Error("no"));
    await bench.until(() => bench.delivered.length === 1, "the first");
    await engine.pause();
    await engine.cancel(await bench.enqueue("y", { callback }));
    await bench.until(() => bench.delivered.length === 2, "the second");
    await engine.run({ task_type: "echo" }, { callback });
    await bench.until(() => bench.delivered.length === 3, "the third");
    assertEquals(bench.delivered.map((it) => it.split(" ").at(-1)), [
      "failed",
      "failed",
      "completed",
    ]);
  });

  test("a callback that fails is tried again; one that cannot arrive is not", async (bench) => {
    const { engine } = bench;
    bench.undelivered = new Error("no answer");
    const callback = callbackTo("http://a.example/");
    const { task_id, finish } = await bench.start("x", { callback });
    finish();
    await bench.until(() => bench.delivered.length === 1, "the first try");
    // Until then the task can be asked for, and its callback is still there.
    assertEquals((await engine.get(task_id)).status, "completed");
    assertEquals(await engine.callbacks(task_id), [callback]);
    bench.undelivered = undefined;
    await bench.until(async () => (await engine.callbacks(task_id)).length === 0, "the second");
    bench.undelivered = new UndeliverableError("no such host");
    await engine.setCallback(task_id, callback);
    await bench.until(async () => (await engine.callbacks(task_id)).length === 0, "the end of it");
    const steps = (await engine.steps(task_id)).map(({ event, detail }) => [event, detail]);
    assertEquals(steps.slice(2), [
      ["completed", "4 bytes"],
      ["callback_retry", "no answer (try 1 of 5)"],
      ["callback", "delivered"],
      ["callback_failed", "no such host (try 1 of 5)"],
    ]);
  });

  test("a task has 16 callbacks at most; each can still be replaced", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const id = await bench.enqueue();
    for (let n = 0; n < 16; n++) {
      await engine.setCallback(id, callbackTo("http://a.example/", `${n}`));
    }
    const set = async (callback_id: string) =>
      await engine.setCallback(id, callbackTo("http://b.example/", callback_id));
    const error = await assertRejects(() => set("16"), SvcError, "16 callbacks already");
    assertEquals(error.code, "conflict");
    await set("3");
    await engine.removeCallback(id, "4");
    await set("16");
    const callbacks = await engine.callbacks(id);
    assertEquals(callbacks.length, 16);
    assertEquals(callbacks.filter(({ url }) => url === "http://b.example/").length, 2);
  });

  // ── artifacts ────────────────────────────────────────────────────────────────────────────────

  test("artifacts are in the record and can be opened; bad names fail the task", async (bench) => {
    const { engine } = bench;
    const run = (...names: string[]) =>
      engine.run({ task_type: "files", description: JSON.stringify(names) });
    const { id, artifacts } = await run("a.txt", "B-2_c.txt");
    assertEquals(
      artifacts?.map(({ name, size, media_type, url }) => [name, size, media_type, url]),
      [
        ["a.txt", 16, "text/plain", `/api/task/${id}/artifacts/a.txt`],
        ["B-2_c.txt", 20, "text/plain", `/api/task/${id}/artifacts/B-2_c.txt`],
      ],
    );
    assertEquals(await toText((await engine.openArtifact(id, "a.txt"))!), "content of a.txt");
    for (const name of ["b.txt", "", "../state.db", "A.TXT"]) {
      assertEquals(await engine.openArtifact(id, name), undefined, name);
    }
    for (const name of ["", ".hidden", "a/b", "..", "a b", "x".repeat(101)]) {
      const { status, error } = await run("good.txt", name);
      assertEquals(status, "failed");
      assertStringIncludes(error!, "is not a valid name of an artifact");
    }
  });

  // ── who sees what ────────────────────────────────────────────────────────────────────────────

  test("a task is seen by its owner; one of the operator's by no hirer", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const ids = [
      await bench.enqueue("a", { hired: true, owner: "one" }),
      await bench.enqueue("b", { hired: true, owner: "two" }),
      await bench.enqueue("c", { hired: true }),
      await bench.enqueue("d"),
    ];
    const seenBy = async (sight?: Parameters<typeof engine.get>[1]) => {
      let seen = "";
      for (const [n, id] of ids.entries()) {
        try {
          await engine.get(id, sight);
          seen += "abcd"[n];
        } catch (error) {
          assert(error instanceof SvcError && error.code === "not_found", String(error));
          assertEquals(error.message, `there is no task "${id}"`);
          assertEquals(error.hint === undefined, sight?.hired ?? false, "hirers cannot list tasks");
        }
      }
      return seen;
    };
    const ownedBy = (key?: string) => ({ hired: true, owned_by: (it?: string) => it === key });
    assertEquals(await seenBy(), "abcd");
    assertEquals(await seenBy({ hired: true }), "abc");
    assertEquals(await seenBy(ownedBy("one")), "a");
    assertEquals(await seenBy(ownedBy("two")), "b");
    assertEquals(await seenBy(ownedBy()), "c");
    assertEquals(Object.hasOwn(await engine.get(ids[0]), "owner"), false);
  });

  // ── lists ────────────────────────────────────────────────────────────────────────────────────

  test("tasks are listed newest first, by state and page by page", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift(await bench.enqueue(`${n}`));
    await engine.cancel(ids[2]);
    await engine.cancel(ids[4]);
    const done = await engine.run({ task_type: "echo" });
    ids.unshift(done.id);
    const pages = async (query: { state?: "queued" | "failed" | "completed"; limit: number }) => {
      const seen: string[][] = [];
      let cursor: string | undefined;
      do {
        const { tasks, next_cursor } = await engine.list({ ...query, cursor });
        seen.push(tasks.map(({ id }) => id));
        cursor = next_cursor;
      } while (cursor !== undefined);
      return seen;
    };
    assertEquals(await pages({ limit: 3 }), [ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
    assertEquals(await pages({ limit: 8 }), [ids]);
    assertEquals(await pages({ state: "failed", limit: 1 }), [[ids[3]], [ids[5]]]);
    assertEquals(await pages({ state: "completed", limit: 9 }), [[done.id]]);
    const queued = ids.filter((_, n) => n !== 0 && n !== 3 && n !== 5);
    assertEquals((await pages({ state: "queued", limit: 2 })).flat(), queued);
    assertEquals((await engine.list({ limit: 9 })).tasks[0], done, "the whole record");
    for (const cursor of ["x", "-1", "1.5", ""]) {
      await assertRejects(
        async () => await engine.list({ limit: 1, cursor }),
        SvcError,
        "cursor must be the next_cursor of an earlier page",
      );
    }
  });

  test("long lists miss nothing while tasks come and end", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) {
      const more = await Promise.all(Array.from({ length: 30 }, () => bench.enqueue()));
      ids.push(...more);
      // At once: what was accepted is listed.
      const { tasks } = await engine.list({ limit: 1000 });
      assertEquals(new Set(tasks.map(({ id }) => id)).size, ids.length);
    }
    await Promise.all(ids.slice(0, 70).map((id) => engine.cancel(id)));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await engine.list({ limit: 30, cursor, state: "failed" });
      seen.push(...page.tasks.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    assertEquals(new Set(seen), new Set(ids.slice(0, 70)));
    assertEquals(seen.length, 70);
    await bench.counts({ failed: 70, queued: 50 });
  });

  test("a client's tasks are listed by change, filtered and page by page", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const add = (request_id: string, context_id: string, key_id = "k") => {
      const client = { ...clientOf(request_id), context_id, key_id };
      return bench.enqueue(request_id, { client, hired: true, owner: key_id || undefined });
    };
    const a = await add("a", "one");
    const b = await add("b", "one");
    const c = await add("c", "two");
    await add("key:d", "two");
    const e = await add("e", "one", "other");
    const f = await add("f", "one", "");
    await pass();
    const since = new Date().toISOString();
    await engine.cancel(b);
    await pass();
    const { id: g } = await engine.run({ task_type: "echo" }, {
      client: clientOf("g"),
      hired: true,
      owner: "k",
    });
    const listed = async (query: Partial<ClientQuery> = {}) => {
      const { tasks, total } = await engine.listOf({ key_id: "k", limit: LISTED_MAX, ...query });
      assertEquals(total, tasks.length);
      return tasks.map(({ id }) => id);
    };
    assertEquals(await listed(), [g, b, c, a]);
    assertEquals(await listed({ key_id: "other" }), [e]);
    assertEquals(await listed({ key_id: "" }), [f]);
    assertEquals(await listed({ key_id: "nobody" }), []);
    assertEquals(await listed({ context_id: "one" }), [b, a]);
    assertEquals(await listed({ status: "queued" }), [c, a]);
    assertEquals(await listed({ status: "failed", cancelled: true }), [b]);
    assertEquals(await listed({ status: "failed", cancelled: false }), []);
    assertEquals(await listed({ cancelled: false }), [g, c, a]);
    assertEquals(await listed({ changed_since: since }), [g, b]);
    assertEquals(await listed({ context_id: "one", changed_since: since }), [b]);
    const seen: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await engine.listOf({ key_id: "k", limit: 3, cursor });
      assertEquals(page.total, 4);
      seen.push(page.tasks.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    assertEquals(seen, [[g, b, c], [a]]);
    for (const cursor of ["x", "", "2026-01-01T00:00:00.000Z"]) {
      const error = await assertRejects(
        async () => await engine.listOf({ key_id: "k", limit: 3, cursor }),
        SvcError,
        "invalid page token",
      );
      assertEquals(error.code, "validation");
    }
  });

  // ── logs ─────────────────────────────────────────────────────────────────────────────────────

  test("a log is followed from a line until the end of its task", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const id = await bench.enqueue();
    const other = await bench.enqueue("other");
    const lines: TaskLogEntry[] = [];
    const following = (async () => {
      for await (const line of engine.follow(id, { since_seq: 0, signal: never() })) {
        lines.push(line);
      }
    })();
    await bench.until(() => lines.length === 1, "the first line");
    await engine.resume();
    const { note, finish } = await bench.attempt(id);
    note("n".repeat(1_500));
    await bench.until(() => lines.length === 3, "the note, live");
    finish();
    await following;
    assertEquals(lines.map(({ event }) => event), ["enqueued", "started", "note", "completed"]);
    assertEquals(lines[2].detail, "n".repeat(1_000));
    assert(lines.every(({ task_id, at }) => task_id === id && !Number.isNaN(Date.parse(at))));
    assert(lines.every(({ seq }, n) => n === 0 || seq > lines[n - 1].seq));
    assertEquals(await engine.steps(id), lines);
    const from = (since_seq: number) =>
      Array.fromAsync(engine.follow(id, { since_seq, signal: never() }));
    assertEquals(await from(0), lines);
    assertEquals(await from(lines[1].seq), lines.slice(2));
    assertEquals(await from(lines[3].seq), []);
    assertEquals(await from(1e9), []);
    const stopped = new AbortController();
    const waiting = Array.fromAsync(
      engine.follow(other, { since_seq: 0, signal: stopped.signal }),
    );
    stopped.abort();
    assert((await waiting).length <= 2);
    const newest = await engine.log({ n: 3 });
    assertEquals(newest.length, 3);
    assert(newest.every(({ seq }, n) => n === 0 || seq > newest[n - 1].seq));
    assertEquals(newest.at(-1)!.event, "completed");
  });

  test("a long log is kept whole and in order", async (bench) => {
    const { engine } = bench;
    const { task_id, note, finish } = await bench.start();
    for (let n = 0; n < 120; n++) note(`${n}`);
    finish();
    await bench.reach(task_id, "completed");
    const lines = await Array.fromAsync(
      engine.follow(task_id, { since_seq: 0, signal: never() }),
    );
    const notes = lines.filter(({ event }) => event === "note").map(({ detail }) => detail);
    assertEquals(notes, Array.from({ length: 120 }, (_, n) => `${n}`));
    const middle = lines[77].seq;
    const rest = await Array.fromAsync(
      engine.follow(task_id, { since_seq: middle, signal: never() }),
    );
    assertEquals(rest, lines.slice(78));
  });

  // ── quotas ───────────────────────────────────────────────────────────────────────────────────

  const hired = (owner: string | undefined, quota: Quota) => ({ hired: true, owner, quota });

  async function refusals(
    all: Promise<unknown>[],
    details: { limit: string; value: number },
  ): Promise<number> {
    const results = await Promise.allSettled(all);
    const refused = results.filter((it) => it.status === "rejected");
    for (const { reason } of refused) {
      assert(reason instanceof SvcError, String(reason));
      assertEquals(reason.code, "budget_exceeded");
      assertStringIncludes(reason.message, `[hire] ${details.limit} is ${details.value}`);
      const { retry_after_s, ...rest } = reason.details as Record<string, unknown>;
      assertEquals(rest, details);
      assert(Number.isInteger(retry_after_s) && retry_after_s as number > 0);
    }
    return refused.length;
  }

  test("max_queued: of twenty at once as many are accepted as fit", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const add = (owner: string | undefined, quota: Quota = { max_queued: 5 }) =>
      engine.enqueue({ task_type: "manual" }, hired(owner, quota));
    const all = Array.from({ length: 20 }, () => add("one"));
    assertEquals(await refusals(all, { limit: "max_queued", value: 5 }), 15);
    await bench.counts({ queued: 5 });
    // Others, and those who wait, are not limited by it.
    await add("two");
    await engine.run({ task_type: "echo" }, hired("one", { max_queued: 5 }));
    const [{ id }] = (await engine.list({ state: "queued", limit: 9 })).tasks.slice(-1);
    await engine.cancel(id);
    await add("one");
    assertEquals(await refusals([add("one")], { limit: "max_queued", value: 5 }), 1);
  });

  test("max_running: of twenty that wait at once as many start as fit", async (bench) => {
    const { engine } = bench;
    const limit = { max_running: 3 };
    const run = (owner = "one") => engine.run({ task_type: "manual" }, hired(owner, limit));
    const all = Array.from({ length: 20 }, () => run());
    const refused = refusals(all, { limit: "max_running", value: 3 });
    await bench.until(() => bench.held.length === 3, "three attempts");
    await engine.enqueue({ task_type: "echo" }, hired("one", limit));
    await engine.run({ task_type: "echo" }, hired("two", limit));
    for (const { finish } of bench.held) finish();
    assertEquals(await refused, 17);
    // At once: what has been answered is no longer counted.
    for (let n = 0; n < 5; n++) {
      await engine.run({ task_type: "echo" }, hired("one", { max_running: 1 }));
    }
  });

  test("max_bytes: requests and artifacts fill the space of an owner", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const limit = { max_bytes: 2_000 };
    const request = { task_type: "manual", description: "" };
    const add = (length: number, owner = "one") =>
      engine.enqueue({ ...request, description: "x".repeat(length) }, hired(owner, limit));
    const size = JSON.stringify(request).length;
    const all = Array.from({ length: 20 }, () => add(400 - size));
    assertEquals(await refusals(all, { limit: "max_bytes", value: 2_000 }), 15);
    await add(400 - size, "two");
    const files = { task_type: "files", description: '["a.txt"]' };
    const { artifacts } = await engine.run(files, hired("three", limit));
    assertEquals(artifacts?.[0].size, 16);
    const rest = 2_000 - JSON.stringify(files).length - 16 - size;
    const details = { limit: "max_bytes", value: 2_000 };
    assertEquals(await refusals([add(rest + 1, "three")], details), 1);
    await add(rest, "three");
    assertEquals(await refusals([add(0, "three")], details), 1);
  });

  test("max_usd_day: an owner that has spent its money waits for a day", async (bench) => {
    const { engine } = bench;
    const limit = { max_usd_day: 0.5 };
    const run = (usd: number, owner = "one") =>
      engine.run({ task_type: "echo", extra: { usd } }, hired(owner, limit));
    assertEquals((await run(0.3)).usage, { usd: 0.3 });
    await run(0.3);
    const details = { limit: "max_usd_day", value: 0.5 };
    assertEquals(await refusals(Array.from({ length: 20 }, () => run(0.1)), details), 20);
    const queued = engine.enqueue({ task_type: "echo" }, hired("one", limit));
    const error = await assertRejects(() => queued, SvcError);
    const { retry_after_s } = error.details as { retry_after_s: number };
    assert(
      retry_after_s > 86_400 - traits.day_s - 60 && retry_after_s <= 86_400,
      `${retry_after_s}`,
    );
    await run(0.6, "two");
    assertEquals(await refusals([run(0, "two")], details), 1);
  });

  // ── stopping ─────────────────────────────────────────────────────────────────────────────────

  test("a stop with grace lets tasks end; the rest goes back without an attempt", async (bench) => {
    const [a, b] = [await bench.start("a"), await bench.start("b")];
    const { engine } = bench;
    const closing = bench.close(1_000);
    a.finish();
    await closing;
    assert(b.signal.aborted);
    const refused = await assertRejects(() => engine.enqueue({ task_type: "echo" }), SvcError);
    assertEquals(refused.code, "shutting_down");
    await assertRejects(async () => await engine.get(a.task_id), SvcError, "stopping");
    bench.held.length = 0;
    await bench.open();
    const again = await bench.attempt(b.task_id);
    assertEquals((await bench.engine.get(a.task_id)).status, "completed");
    assertEquals(await bench.events(b.task_id), ["enqueued", "started", "returned", "started"]);
    again.finish();
    await bench.reach(b.task_id, "completed");
    await bench.counts({ completed: 2, queued: 0, running: 0, busy: 0 });
  });

  test("a stop without grace gives back running tasks at once; queued ones wait", async (bench) => {
    const running = await bench.start("a", { max_attempts: 1 });
    const queued = await bench.enqueue("b");
    await bench.close();
    assert(running.signal.aborted);
    assertEquals(bench.taken(), "a");
    await bench.open();
    (await bench.attempt(running.task_id)).fail(new Error("stale"));
    await bench.until(() => bench.held.length >= 2, "the next attempt");
    bench.held.at(-1)!.finish();
    await bench.until(async () => {
      const { queued, running } = await bench.engine.status();
      if (queued + running > 0) bench.held.at(-1)!.finish();
      return queued + running === 0;
    }, "the end of both");
    assertEquals((await bench.engine.get(queued)).attempts, 1);
    assertEquals((await bench.engine.get(running.task_id)).attempts, 1);
  }, 1);

  test("clients that wait are answered when the process stops", async (bench) => {
    const { engine } = bench;
    const waiting = engine.run({ task_type: "manual" }, { client: clientOf("r") });
    await bench.until(() => bench.held.length === 1, "the attempt");
    const [{ task_id }] = bench.held;
    const result = waiting.then(({ error }) => error, (error) => error);
    await bench.close();
    bench.held.length = 0;
    if (traits.waited_for === "lost") {
      assertEquals(await result, "lost when the daemon stopped");
      await bench.open();
      const { status, error } = await bench.engine.get(task_id);
      assertEquals([status, error], ["failed", "lost when the daemon stopped"]);
    } else {
      const error = await result;
      assert(error instanceof SvcError && error.code === "shutting_down", String(error));
      assertStringIncludes(error.message, task_id);
      await bench.open();
      const again = await bench.attempt(task_id);
      again.finish("after all");
      await bench.reach(task_id, "completed");
      const record = await bench.engine.run({ task_type: "manual" }, { client: clientOf("r") });
      assertEquals([record.id, record.summary], [task_id, "after all"]);
      assertEquals(await bench.events(task_id), ["started", "returned", "started", "completed"]);
    }
    await bench.counts({ running: 0, queued: 0, busy: 0 });
  });

  test("who follows a log learns that the process stops", async (bench) => {
    const id = await bench.enqueue();
    await bench.attempt(id);
    const following = Array.fromAsync(
      bench.engine.follow(id, { since_seq: 0, signal: never() }),
    );
    const result = assertRejects(() => following, SvcError, "stopping");
    await bench.close();
    await result;
    await bench.open();
  });

  // ── what cannot be read ──────────────────────────────────────────────────────────────────────

  test("a record that cannot be read is named, and others go on", async (bench) => {
    const { engine } = bench;
    await engine.pause();
    const owner = { hired: true, owner: "k" };
    const add = (request_id: string) =>
      bench.enqueue(request_id, { ...owner, client: clientOf(request_id) });
    const [a, bad, c] = [await add("a"), await add("b"), await add("c")];
    await bench.garble(bad);
    const error = await assertRejects(async () => await engine.get(bad), SvcError);
    assertEquals(error.code, "internal");
    assertStringIncludes(error.message, `cannot read task ${bad}`);
    const ids = (tasks: { id: string }[]) => tasks.map(({ id }) => id);
    assertEquals(ids((await engine.list({ limit: 9 })).tasks), [c, a]);
    assert(bench.log.of("warn").some((it) => it.includes(bad)), "it is in the log");
    assertEquals(
      ids((await engine.listOf({ key_id: "k", limit: 9 })).tasks).toSorted(),
      [a, c].toSorted(),
    );
    await engine.log({ n: 100 });
    await engine.resume();
    for (const id of [a, c]) {
      (await bench.attempt(id)).finish();
      await bench.reach(id, "completed");
    }
    assertEquals((await engine.run({ task_type: "echo", description: "hi" })).summary, "hi");
    await bench.counts({ busy: 0, running: 0, completed: 3 });
  }, 1);
}

function clientOf(request_id: string): TaskClient {
  return { key_id: "k", request_id, context_id: "c", message: { text: "hi" } };
}

function never(): AbortSignal {
  return new AbortController().signal;
}

/** Lets the clock show another time. */
async function pass(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5));
}
