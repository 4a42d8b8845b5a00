import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { deadline } from "@std/async";
import { FakeClock, settle } from "../../../tests/support/clock.ts";
import { granted } from "../../../tests/support/permissions.ts";
import { MemoryLog, TempDir } from "../../../tests/support/sessions.ts";
import { SvcError } from "../../protocol/errors.ts";
import { openTestDb } from "../../../tests/support/state_db.ts";
import { LocalArtifacts } from "./artifacts.ts";
import { STOP_GRACE_MS } from "./attempts.ts";
import {
  type LocalTaskEngine,
  openTaskEngine,
  recoverTasks,
  type TaskEngineParts,
} from "./local_engine.ts";
import { ExecutorRegistry } from "./executors/registry.ts";
import { type Deliverable, RetryableError, type TaskContext, type TaskRequest } from "./task.ts";

const ignore = !granted("read", "write");
/** A test that waits for what never comes fails: nothing else here keeps its process going. */
const PATIENCE_MS = 60_000;

/** An attempt of the executor `manual`, which ends when the test says so. */
interface Held extends TaskContext {
  request: TaskRequest;
  finish(summary?: string): void;
  fail(error: Error): void;
}

/** An engine in a temporary directory, its clock, and what its executor is doing. */
class Bench implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly log = new MemoryLog();
  readonly dir = new TempDir();
  readonly path = this.dir.join("state.db");
  readonly held: Held[] = [];
  /** Whether executors stop when they are told to. */
  obedient = true;
  engine!: LocalTaskEngine;
  /** The tasks that go on after the last start. */
  left: string[] = [];
  /** What was dropped: task, work and the task's status then. */
  readonly dropped: string[] = [];

  static async open(parts: Partial<TaskEngineParts> = {}): Promise<Bench> {
    const bench = new Bench();
    await bench.start(parts);
    return bench;
  }

  async start(parts: Partial<TaskEngineParts> = {}): Promise<void> {
    const { clock, log } = this;
    const executors = new ExecutorRegistry([{
      task_type: "manual",
      run: (request, context) => this.#hold(request, context),
      drop: (task_id, left) => {
        this.dropped.push(`${task_id} ${left} ${this.engine.get(task_id).status}`);
        return Promise.resolve();
      },
    }, {
      task_type: "echo",
      run: ({ description = "" }) => Promise.resolve({ summary: description, size: 1 }),
    }]);
    const db = await openTestDb(this.path);
    this.left = recoverTasks(db, this).map(({ work }) => work);
    this.engine = openTaskEngine(db, {
      executors,
      log,
      workers: 2,
      clock,
      random: () => 1,
      artifacts: new LocalArtifacts(this.dir.join("artifacts")),
      deliver: () => Promise.resolve(),
      ...parts,
    });
  }

  #hold(request: TaskRequest, context: TaskContext): Promise<Deliverable> {
    const { promise, resolve, reject } = Promise.withResolvers<Deliverable>();
    if (this.obedient) {
      context.signal.addEventListener("abort", () => reject(context.signal.reason));
    }
    const finish = (summary = "done") => resolve({ summary, size: summary.length });
    this.held.push({ ...context, request, finish, fail: reject });
    return promise;
  }

  /** Enqueues a task that the test ends, and lets a worker take it. */
  async enqueue(description = "x", options = {}): Promise<string> {
    const { id } = await this.engine.enqueue({ task_type: "manual", description }, options);
    await settle();
    return id;
  }

  /** A second engine on a copy of the database, as after a crash of the first. */
  async crash(parts: Partial<TaskEngineParts> = {}): Promise<void> {
    const db = await openTestDb(this.path);
    const copy = this.dir.join(`${crypto.randomUUID()}.db`);
    db.exec(`VACUUM INTO '${copy}'`);
    db.close();
    Deno.chmodSync(copy, 0o600);
    await this.#close();
    this.held.length = 0;
    (this as { path: string }).path = copy;
    await this.start(parts);
    await settle();
  }

  events(id?: string): string[] {
    const entries = this.engine.log({ n: 1000 }).filter((it) => !id || it.task_id === id);
    return entries.map(({ event }) => event);
  }

  async #close(): Promise<void> {
    const closing = this.engine.close();
    await this.clock.advance(STOP_GRACE_MS);
    await deadline(closing, PATIENCE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
    assertEquals(this.clock.waiting, 0, "no timer is left");
    this.dir[Symbol.dispose]();
  }
}

function states(bench: Bench, ids: readonly string[]): string[] {
  return ids.map((id) => bench.engine.get(id).status);
}

Deno.test({
  name: "a task goes from queued to completed, with its times, summary and size",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const request = { task_type: "manual", description: "x" };
    const record = await bench.engine.enqueue(request);
    const created_at = "2030-01-01T00:00:00.000Z";
    assertEquals(record, {
      id: record.id,
      status: "queued",
      task_type: "manual",
      subject: "x",
      created_at,
      attempts: 0,
    });
    assert(/^t-[0-9A-Z]{26}$/.test(record.id), record.id);
    await bench.clock.advance(1000);
    assertEquals(bench.held[0].request, request);
    assertEquals(bench.engine.get(record.id).status, "running");
    bench.held[0].note("half way");
    bench.held[0].finish("the result");
    await settle();
    assertEquals(bench.engine.get(record.id), {
      ...record,
      status: "completed",
      started_at: created_at,
      completed_at: "2030-01-01T00:00:01.000Z",
      summary: "the result",
      size: 10,
      attempts: 1,
    });
    assertEquals(bench.events(record.id), ["enqueued", "started", "note", "completed"]);
  },
});

Deno.test({
  name: "an error fails the task; only a retryable one is tried again, later each time",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const broken = await bench.enqueue();
    bench.held[0].fail(new Error("no such thing"));
    await settle();
    const { status, error, attempts, completed_at } = bench.engine.get(broken);
    assertEquals([status, error, attempts, completed_at !== undefined], [
      "failed",
      "no such thing",
      1,
      true,
    ]);
    const flaky = await bench.enqueue("y", { max_attempts: 3 });
    for (const wait_ms of [1_000, 2_000]) {
      bench.held.at(-1)!.fail(new RetryableError("busy"));
      await settle();
      const { status, started_at, error } = bench.engine.get(flaky);
      assertEquals([status, started_at, error], ["queued", undefined, undefined]);
      const before = bench.held.length;
      await bench.clock.advance(wait_ms - 1);
      assertEquals(bench.held.length, before, "not before its time");
      await bench.clock.advance(1);
      assertEquals(bench.held.length, before + 1);
    }
    assertEquals(bench.held.at(-1)!.attempt, 3);
    bench.held.at(-1)!.fail(new RetryableError("busy"));
    await settle();
    assertEquals(bench.engine.get(flaky).error, "busy (attempt 3 of 3)");
    assertEquals(bench.events(flaky), [
      "enqueued",
      ...["started", "retry", "started", "retry", "started"],
      "failed",
    ]);
  },
});

Deno.test({
  name: "workers take tasks in the order they came, as many at once as there are workers",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const { engine, held } = bench;
    const taken = () => held.map(({ request }) => request.description).join("");
    for (const name of "abcdef") await bench.enqueue(name);
    assertEquals(taken(), "ab");
    assertEquals(engine.status(), {
      paused: false,
      workers: 2,
      busy: 2,
      queued: 4,
      running: 2,
      completed: 0,
      failed: 0,
    });
    held[1].finish();
    await settle();
    assertEquals(taken(), "abc");
    engine.setWorkers(0);
    held[0].finish();
    held[2].finish();
    await settle();
    assertEquals([taken(), engine.status().busy], ["abc", 0]);
    engine.setWorkers(64);
    await settle();
    assertEquals([taken(), engine.status().busy], ["abcdef", 3]);
    for (const count of [-1, 65, 1.5, NaN]) {
      assertThrows(() => engine.setWorkers(count), SvcError, "0 to 64");
    }
    for (const it of held) it.finish();
  },
});

Deno.test({
  name: "paused, nothing is taken and running tasks go on; pause and workers survive a restart",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const first = await bench.enqueue("a");
    bench.engine.pause();
    bench.engine.setWorkers(1);
    const waiting = [await bench.enqueue("b"), await bench.enqueue("c")];
    bench.held[0].finish();
    await settle();
    assertEquals(states(bench, [first, ...waiting]), ["completed", "queued", "queued"]);
    await bench.crash();
    assertEquals([bench.engine.status().paused, bench.engine.status().workers], [true, 1]);
    assertEquals(bench.held, []);
    bench.engine.resume();
    await settle();
    assertEquals(states(bench, waiting), ["running", "queued"]);
    bench.engine.resume();
    assertEquals(bench.events().filter((it) => it === "resumed").length, 1);
  },
});

Deno.test({
  name: "what a crash cut off runs again, until its attempts are used up",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 1 });
    const id = await bench.enqueue("a", { max_attempts: 2 });
    const next = await bench.enqueue("b");
    await bench.crash({ workers: 1 });
    assertEquals(bench.held.map(({ task_id, attempt }) => [task_id, attempt]), [[id, 2]]);
    assertEquals(bench.log.of("warn"), ["tasks were running when the daemon stopped"]);
    await bench.crash({ workers: 1 });
    const { status, error, attempts } = bench.engine.get(id);
    assertEquals([status, error, attempts], [
      "failed",
      "lost when the daemon stopped, attempt 2 of 2",
      2,
    ]);
    assertEquals(bench.held.map(({ task_id }) => task_id), [next]);
  },
});

Deno.test({
  name: "a graceful stop lets tasks finish, then puts them back without counting the attempt",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const [a, b] = [await bench.enqueue("a"), await bench.enqueue("b")];
    const closing = bench.engine.close(10_000);
    await assertRejects(() => bench.engine.enqueue({ task_type: "manual" }), SvcError, "stopping");
    await settle();
    bench.held[0].finish();
    await bench.clock.advance(10_000);
    await deadline(closing, PATIENCE_MS);
    assert(bench.held[1].signal.aborted);
    assertThrows(() => bench.engine.get(a), SvcError, "stopping");
    bench.held.length = 0;
    await bench.start();
    await settle();
    assertEquals(states(bench, [a, b]), ["completed", "running"]);
    assertEquals(bench.held.map(({ attempt }) => attempt), [1]);
    assertEquals(bench.events(b), ["enqueued", "started", "returned", "started"]);
  },
});

Deno.test({
  name: "a cancelled task's executor is told, and the task stays cancelled whatever that says",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const id = await bench.enqueue();
    const { finish, signal } = bench.held[0];
    const cancelling = bench.engine.cancel(id);
    finish("too late");
    const record = await deadline(cancelling, PATIENCE_MS);
    assert(signal.aborted);
    assertEquals([record.status, record.error, record.cancelled], ["failed", "cancelled", true]);
    await settle();
    assertEquals(bench.engine.get(id), record);
    assertEquals(await bench.engine.cancel(id), record, "again: the same");
    await bench.crash();
    assertEquals(bench.engine.get(id), record);
    assertEquals(bench.held, []);
    assertEquals(bench.events(id), ["enqueued", "started", "cancelled"]);
  },
});

Deno.test({
  name: "a completed task cannot be cancelled; a queued one never starts",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 1 });
    const [done, queued] = [await bench.enqueue("a"), await bench.enqueue("b")];
    assertEquals((await bench.engine.cancel(queued)).cancelled, true);
    bench.held[0].finish();
    await settle();
    await assertRejects(() => bench.engine.cancel(done), SvcError, "already completed");
    await assertRejects(() => bench.engine.cancel("t-none"), SvcError, "no task");
    assertEquals(bench.held.length, 1);
  },
});

Deno.test({
  name: "an executor that ignores its signal is waited for 8 s and then loses its worker",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 1 });
    bench.obedient = false;
    const id = await bench.enqueue("a");
    const next = await bench.enqueue("b");
    let answered = false;
    const cancelling = bench.engine.cancel(id).then(() => answered = true);
    assertEquals(STOP_GRACE_MS, 8_000);
    await bench.clock.advance(STOP_GRACE_MS - 1);
    assertEquals([answered, bench.engine.get(id).status], [false, "failed"]);
    assertEquals(bench.engine.get(next).status, "queued");
    await bench.clock.advance(1);
    await deadline(cancelling, PATIENCE_MS);
    assertEquals(bench.engine.get(next).status, "running");
    assertEquals(bench.log.of("warn"), ["an executor did not stop in time"]);
    bench.held[0].finish("much later");
    await settle();
    assertEquals(bench.engine.get(id).error, "cancelled");
    assertEquals(bench.engine.status().busy, 1);
  },
});

Deno.test({
  name: "a task past its deadline fails, whether or not its executor obeys",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    for (const obedient of [true, false]) {
      bench.obedient = obedient;
      const running = bench.engine.run({ task_type: "manual" }, { timeout_ms: 600_000 });
      const id = await bench.enqueue("queued", { timeout_ms: 90_000 });
      await bench.clock.advance(90_000);
      assertEquals(bench.engine.get(id).error, "deadline of 1m30s exceeded");
      await bench.clock.advance(510_000);
      const { status, error } = await deadline(running, PATIENCE_MS);
      assertEquals([status, error], ["failed", "deadline of 10m exceeded"]);
      await bench.clock.advance(STOP_GRACE_MS);
    }
    assertEquals(bench.engine.status().busy, 0);
  },
});

Deno.test({
  name: "a task that is waited for starts beside the workers and is answered when it has ended",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 0 });
    const { summary, status } = await bench.engine.run({ task_type: "echo", description: "hi" });
    assertEquals([summary, status], ["hi", "completed"]);
    const gone = new AbortController();
    const running = bench.engine.run({ task_type: "manual" }, { signal: gone.signal });
    await settle();
    gone.abort();
    const record = await deadline(running, PATIENCE_MS);
    assertEquals([record.status, record.error], ["failed", "cancelled by the client"]);
    assert(bench.held[0].signal.aborted);
    const late = await bench.engine.run({ task_type: "manual" }, { signal: gone.signal });
    assertEquals([late.error, bench.held.length], ["cancelled by the client", 1]);
  },
});

Deno.test({
  name: "a task that was waited for is not run again after a crash or a stop",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const first = bench.engine.run({ task_type: "manual" });
    await settle();
    const { task_id } = bench.held[0];
    await bench.crash();
    assertEquals((await deadline(first, PATIENCE_MS)).error, "lost when the daemon stopped");
    const { status, error } = bench.engine.get(task_id);
    assertEquals([status, error], ["failed", "lost when the daemon stopped"]);
    assertEquals(bench.held, []);
  },
});

Deno.test({
  name: "a clock that jumps back stalls nothing",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 1 });
    const flaky = await bench.enqueue("a");
    bench.held[0].fail(new RetryableError("busy"));
    await settle();
    bench.clock.jump(-86_400_000);
    await bench.clock.advance(1_000);
    assertEquals(bench.engine.get(flaky).status, "running");
    const [b, c] = [await bench.enqueue("b"), await bench.enqueue("c")];
    bench.clock.jump(-86_400_000);
    bench.held[1].finish();
    await settle();
    const { created_at, started_at, completed_at } = bench.engine.get(flaky);
    assert(created_at <= started_at! && started_at! <= completed_at!);
    assertEquals(states(bench, [b, c]), ["running", "queued"]);
    const d = await bench.enqueue("d");
    bench.held[2].finish();
    await settle();
    assertEquals(states(bench, [c, d]), ["running", "queued"], "still in the order they came");
  },
});

Deno.test({
  name: "an unknown task type and an executor that returns nothing are told apart from success",
  ignore,
  async fn() {
    const executors = new ExecutorRegistry([
      { task_type: "void", run: () => Promise.resolve(undefined as unknown as Deliverable) },
      {
        task_type: "strict",
        check() {
          throw new SvcError("validation", "not like that");
        },
        run: () => Promise.reject(new Error("never")),
      },
    ]);
    await using bench = await Bench.open({ executors });
    const { engine } = bench;
    const error = await assertRejects(() => engine.enqueue({ task_type: "vod" }), SvcError);
    assertEquals(error.code, "validation");
    assertEquals(error.message, 'task_type must be one of void, strict; got "vod"');
    assertEquals(error.hint, 'did you mean "void"?');
    await assertRejects(() => engine.enqueue({ task_type: "strict" }), SvcError, "not like that");
    const record = await engine.run({ task_type: "void" });
    assertEquals(record.error, "the executor of void returned neither a summary nor an error");
  },
});

Deno.test({
  name: "tasks are listed newest first, by state and page by page",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 0 });
    const { engine } = bench;
    const ids: string[] = [];
    for (const name of "abcde") ids.unshift(await bench.enqueue(name));
    await engine.cancel(ids[2]);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = engine.list({ limit: 2, cursor });
      seen.push(...page.tasks.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor !== undefined);
    assertEquals(seen, ids);
    assertEquals(engine.list({ state: "failed", limit: 9 }).tasks.map(({ id }) => id), [ids[2]]);
    assertThrows(() => engine.list({ limit: 1, cursor: "x" }), SvcError, "next_cursor");
    assertEquals(engine.log({ n: 2 }).map(({ event }) => event), ["enqueued", "cancelled"]);
  },
});

Deno.test({
  name: "a database that cannot be written costs no outcome: it is recorded when it can be",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const id = await bench.enqueue();
    const db = await openTestDb(bench.path);
    db.exec("CREATE TRIGGER full BEFORE UPDATE ON tasks BEGIN SELECT RAISE(FAIL, 'full'); END");
    bench.held[0].finish();
    await settle();
    assertEquals(bench.engine.get(id).status, "running");
    db.exec("DROP TRIGGER full");
    db.close();
    await bench.clock.advance(2_000);
    assertEquals(bench.engine.get(id).status, "completed");
    assertEquals(bench.log.of("error").length, 1);
  },
});

Deno.test({
  name: "tasks that come at once are stored together, each with an id of its own",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 64 });
    const request = { task_type: "echo", description: "hi" };
    const records = await Promise.all(
      Array.from({ length: 200 }, () => bench.engine.enqueue(request)),
    );
    assertEquals(new Set(records.map(({ id }) => id)).size, 200);
    for (let n = 0; n < 100 && bench.engine.status().completed < 200; n++) await settle();
    assertEquals(bench.engine.status().completed, 200);
  },
});

Deno.test({
  name: "the oldest ended tasks are forgotten with their log and their files; no others are",
  ignore,
  async fn() {
    const deliver = () => Promise.reject(new Error("later"));
    await using bench = await Bench.open({ deliver });
    const held = await bench.enqueue("not ended");
    const reported = await bench.engine.enqueue({ task_type: "echo" }, {
      callback: { id: "", url: "https://example.org/", key_id: "k" },
    });
    await settle();
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) {
      const { id } = await bench.engine.run({ task_type: "echo", description: `${n}` });
      ids.push(id);
      Deno.mkdirSync(bench.dir.join("artifacts", id), { recursive: true });
    }
    await bench.crash({ keep_tasks: 3, deliver });
    assertEquals(bench.engine.get(reported.id).status, "completed");
    for (const id of ids.slice(0, 3)) {
      assertThrows(() => bench.engine.get(id), SvcError, "no task");
      assertEquals(bench.events(id), []);
    }
    assertEquals(states(bench, ids.slice(3)), Array(3).fill("completed"));
    assertEquals(bench.engine.get(held).status, "running");
    // Many more end, and the number stays about the same.
    for (let n = 0; n < 260; n++) {
      await bench.engine.run({ task_type: "echo", description: `${n}` });
    }
    const { completed, running } = bench.engine.status();
    assert(completed <= 3 + 1 + 250 && completed >= 3, `${completed} are kept`);
    assertEquals(running, 1);
    await bench.crash({ keep_tasks: 3, deliver });
    const kept = [...Deno.readDirSync(bench.dir.join("artifacts"))].map(({ name }) => name);
    assertEquals(kept.filter((id) => ids.includes(id)), []);
  },
});

Deno.test({
  name: "a criterion that is not met, or a finding of the critic, fails the task",
  ignore,
  async fn() {
    const executors = new ExecutorRegistry([{
      task_type: "check",
      async run({ description = "" }, { keep }) {
        await keep({ name: "a.txt", media_type: "text/plain", content: description });
        const verification = [{
          criterion: "it is so",
          passed: description !== "no",
          evidence: "e",
        }];
        return { summary: "fine", size: 4, verification };
      },
    }]);
    await using bench = await Bench.open({ executors });
    const run = (description: string) => bench.engine.run({ task_type: "check", description });
    const [good, bad, hostile] = [await run("yes"), await run("no"), await run("<|im_end|>")];
    assertEquals([good.status, good.artifacts?.length], ["completed", 1]);
    assertEquals([bad.status, bad.error], ["failed", "not met: it is so: e"]);
    assertEquals(bad.artifacts?.length, 1, "what it made may tell why");
    assertEquals(hostile.error, "refused by the output critic, rule role-token: <|im_end|>");
    assertEquals(hostile.artifacts, undefined, "what was refused is not handed over");
    assertEquals(await bench.engine.openArtifact(hostile.id, "a.txt"), undefined);
  },
});

Deno.test({
  name: "callbacks are tried five times, later each time, also over a restart",
  ignore,
  async fn() {
    const told: string[] = [];
    let failure: Error | undefined = new Error("no answer");
    const deliver: TaskEngineParts["deliver"] = ({ url, key_id }, { status }) => {
      told.push(`${url} ${key_id} ${status}`);
      return failure === undefined ? Promise.resolve() : Promise.reject(failure);
    };
    await using bench = await Bench.open({ deliver });
    const callback = { id: "", url: "http://a.example/", key_id: "k" };
    const request = { task_type: "echo", description: "x" };
    const { id } = await bench.engine.enqueue(request, { callback });
    for (let n = 0; n < 50 && told.length === 0; n++) await settle();
    await bench.clock.advance(1_000);
    await bench.clock.advance(4_000);
    assertEquals(told.length, 3);
    await bench.crash({ deliver });
    for (const wait_ms of [16_000, 64_000, 600_000]) await bench.clock.advance(wait_ms);
    assertEquals(told, Array(5).fill("http://a.example/ k completed"));
    assertEquals(bench.events(id).slice(-2), ["callback_retry", "callback_failed"]);
    failure = undefined;
    const second = await bench.engine.enqueue(request, { callback });
    for (let n = 0; n < 50 && told.length < 6; n++) await settle();
    await settle();
    assertEquals(bench.events(second.id).at(-1), "callback");
  },
});

Deno.test({
  name:
    "what an attempt kept is given to the next one, over a crash and a stop, until the task ends",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const id = await bench.enqueue();
    const waits = bench.engine.run({ task_type: "manual", description: "x" });
    await settle();
    const [queued, waited_for] = bench.held;
    assertEquals([queued.left, waited_for.keepWork], [undefined, undefined]);
    await queued.keepWork!("one");
    await queued.keepWork!("two");
    await bench.crash();
    await waits;
    assertEquals(bench.left, ["two"]);
    const again = bench.held[0];
    assertEquals(again.left, "two");

    again.leaving.addEventListener("abort", () => again.fail(again.leaving.reason));
    await bench.engine.close(60_000);
    assertEquals(again.signal.aborted, false, "it left by itself");
    bench.held.length = 0;
    await bench.start();
    await settle();
    assertEquals(bench.left, ["two"]);
    assertEquals([bench.held[0].left, bench.held[0].attempt], ["two", 2]);
    bench.held[0].finish();
    await settle();
    assertEquals(bench.engine.get(id).status, "completed");
    await bench.crash();
    assertEquals(bench.left, []);
  },
});

Deno.test({
  name: "a task that is cancelled before its next attempt has its work dropped",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    const id = await bench.enqueue();
    await bench.held[0].keepWork!("work");
    bench.engine.pause();
    await bench.crash();
    assertEquals(bench.held, []);
    await bench.engine.cancel(id);
    assertEquals(bench.dropped, [`${id} work failed`]);
    const other = await bench.enqueue();
    await bench.engine.cancel(other);
    assertEquals(bench.dropped.length, 1, "one without work has nothing to drop");
  },
});

Deno.test({
  name: "what an attempt leaves is dropped once its outcome is recorded, whatever that is",
  ignore,
  async fn() {
    await using bench = await Bench.open({ workers: 9 });
    const waits = bench.engine.run({ task_type: "manual", description: "x" });
    for (let n = 0; n < 4; n++) await bench.enqueue();
    const [waited_for, good, bad, again, cancelled] = bench.held;
    for (const it of [good, bad, again]) await it.keepWork!(it.request.description!);
    waited_for.finish();
    good.finish();
    bad.fail(new Error("bad"));
    again.fail(new RetryableError("again"));
    await bench.engine.cancel(cancelled.task_id);
    await waits;
    await settle();
    assertEquals(
      bench.dropped.toSorted(),
      [
        `${good.task_id} x completed`,
        `${bad.task_id} x failed`,
        `${again.task_id} x queued`,
        `${cancelled.task_id} undefined failed`,
      ].toSorted(),
    );
  },
});

Deno.test({
  name: "work that goes on is not dropped, not even of an attempt that ends while it is returned",
  ignore,
  async fn() {
    await using bench = await Bench.open();
    bench.obedient = false;
    const id = await bench.enqueue();
    const early = await bench.enqueue();
    await bench.held[0].keepWork!("work");
    const closing = bench.engine.close(0);
    await settle();
    for (const it of bench.held) it.finish();
    await closing;
    bench.obedient = true;
    bench.held.length = 0;
    const dropped = bench.dropped.splice(0);
    await bench.start();
    await settle();
    assertEquals(bench.held.map((it) => [it.task_id, it.left]), [[id, "work"], [early, undefined]]);
    assertEquals(dropped, [`${early} undefined queued`], "there is nothing to go on with");
  },
});
