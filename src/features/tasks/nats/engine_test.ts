import { assert, assertEquals, assertRejects } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { NatsServer, natsTests } from "../../../../tests/support/nats.ts";
import { SvcError } from "../../../protocol/errors.ts";
import { exists } from "../../../os/files.ts";
import type { Log } from "../../../os/log.ts";
import { LocalArtifacts } from "../artifacts.ts";
import { newTaskId } from "../common.ts";
import { ExecutorRegistry } from "../executors/registry.ts";
import { type Executor, RetryableError, type TaskLogEntry, type TaskRecord } from "../task.ts";
import { type NatsEngineParts, NatsTaskEngine, openNatsEngine } from "./engine.ts";

const PATIENCE_MS = 180_000;
const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** A nats-server, and engines on it. */
class Bench implements AsyncDisposable {
  readonly server: NatsServer;
  readonly dir: string;
  readonly #engines: NatsTaskEngine[] = [];

  private constructor(dir: string, server: NatsServer) {
    this.dir = dir;
    this.server = server;
  }

  static async start(): Promise<Bench> {
    const dir = await Deno.makeTempDir({ prefix: "svc-nats-" });
    return new Bench(dir, await NatsServer.start(join(dir, "js")));
  }

  engine(parts: Partial<NatsEngineParts> = {}): NatsTaskEngine {
    const executors = new ExecutorRegistry(EXECUTORS);
    const engine = openNatsEngine({
      config: { nats_url: this.server.url },
      env: () => undefined,
      executors,
      log: quiet,
      workers: 2,
      task_types: executors.names,
      worker: `worker ${this.#engines.length}`,
      forgets: true,
      files: new LocalArtifacts(join(this.dir, "artifacts")),
      ...parts,
    });
    this.#engines.push(engine);
    return engine;
  }

  /** Puts something there that an executor has kept of a task. @returns its path. */
  strayFile(task_id: string): string {
    const dir = join(this.dir, "artifacts", task_id);
    Deno.mkdirSync(dir, { recursive: true });
    Deno.writeTextFileSync(join(dir, "journal"), "x");
    return dir;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.close()));
    await this.server.kill();
    await Deno.remove(this.dir, { recursive: true });
  }
}

const test = natsTests(() => Bench.start(), PATIENCE_MS);

const EXECUTORS: Executor[] = [
  {
    task_type: "echo",
    async run({ description = "" }, { note, keep }) {
      note(`echoing ${description}`);
      await keep({ name: "echo.txt", media_type: "text/plain", content: description });
      return { summary: description, size: description.length };
    },
  },
  {
    task_type: "patient",
    run: (_request, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true })
      ),
  },
  {
    task_type: "shaky",
    run: (_request, { attempt }) =>
      attempt === 1
        ? Promise.reject(new RetryableError("busy"))
        : Promise.resolve({ summary: "second", size: 6 }),
  },
];

/** Resolves with a task's record when it stands as wanted. */
async function standing(
  engine: NatsTaskEngine,
  id: string,
  status: TaskRecord["status"],
): Promise<TaskRecord> {
  const record = await until(() => engine.get(id), (it) => it.status === status);
  assertEquals(record.status, status, JSON.stringify(record));
  return record;
}

async function logOf(engine: NatsTaskEngine, id: string): Promise<TaskLogEntry[]> {
  const entries: TaskLogEntry[] = [];
  for await (
    const it of engine.follow(id, { since_seq: 0, signal: new AbortController().signal })
  ) {
    entries.push(it);
  }
  return entries;
}

test("a task asked for at one process is run by another, with its log and its artifacts", async (bench) => {
  const front = bench.engine({ workers: 0 });
  bench.engine();
  const notes: string[] = [];
  const record = await front.run({ task_type: "echo", description: "hello" }, {
    onNote: (text) => notes.push(text),
  });
  const { id, created_at, started_at, completed_at } = record;
  assertEquals(record, {
    id,
    status: "completed",
    task_type: "echo",
    subject: "hello",
    created_at,
    started_at,
    completed_at,
    attempts: 1,
    worker: "worker 1",
    summary: "hello",
    size: 5,
    artifacts: record.artifacts,
  });
  assert(created_at <= started_at! && started_at! <= completed_at!);
  const artifact = await front.openArtifact(id, "echo.txt");
  assertEquals(await new Response(artifact).text(), "hello");
  const log = await logOf(front, id);
  assertEquals(log.map(({ event }) => event), ["enqueued", "started", "note", "completed"]);
  assertEquals(notes, ["echoing hello"]);
  assertEquals(await front.steps(id), log);
  assertEquals((await front.log({ n: 2 })).map(({ event }) => event), ["note", "completed"]);
  const rest = front.follow(id, { since_seq: log[2].seq, signal: new AbortController().signal });
  assertEquals((await Array.fromAsync(rest)).map(({ event }) => event), ["completed"]);
});

test("a queued task is tried again after a failure that may pass", async (bench) => {
  const engine = bench.engine({ random: () => 0 });
  const { id } = await engine.enqueue({ task_type: "shaky" });
  const record = await standing(engine, id, "completed");
  assertEquals([record.attempts, record.summary], [2, "second"]);
  const events = (await logOf(engine, id)).map(({ event }) => event);
  assertEquals(events, ["enqueued", "started", "retry", "started", "completed"]);
});

test("a task is cancelled from another process, and its executor is told", async (bench) => {
  const front = bench.engine({ workers: 0 });
  bench.engine();
  const { id } = await front.enqueue({ task_type: "patient" });
  await standing(front, id, "running");
  const record = await front.cancel(id);
  assertEquals([record.status, record.error, record.cancelled], ["failed", "cancelled", true]);
  assertEquals(await front.cancel(id), record);
  const { id: other } = await front.run({ task_type: "echo", description: "x" });
  await assertRejects(() => front.cancel(other), SvcError, "is already completed");
  for (const id of ["t-00000000000000000000000000", "queue", "*", "t 1", ""]) {
    await assertRejects(() => front.get(id), SvcError, "no task");
    await assertRejects(() => front.cancel(id), SvcError, "no task");
  }
});

test("a client that waits for a task gets its answer at the deadline, even when nobody runs it", async (bench) => {
  const front = bench.engine({ workers: 0 });
  const late = await front.run({ task_type: "echo", description: "x" }, { timeout_ms: 300 });
  assertEquals([late.status, late.error], ["failed", "deadline of 300ms exceeded"]);
  const client = new AbortController();
  const left = front.run({ task_type: "echo", description: "x" }, { signal: client.signal });
  client.abort();
  const { status, error, cancelled } = await left;
  assertEquals([status, error, cancelled], ["failed", "cancelled by the client", true]);
});

test("a worker looks at a request again, which the machine that took it had nothing against", async (bench) => {
  const front = bench.engine({ workers: 0 });
  const strict: Executor = {
    task_type: "echo",
    check(_request, hired) {
      if (hired) throw new SvcError("permission_denied", "not offered for hire here");
    },
    run: () => Promise.resolve({ summary: "done", size: 4 }),
  };
  bench.engine({ executors: new ExecutorRegistry([strict]), task_types: ["echo"] });
  const request = { task_type: "echo", description: "x" };
  const refused = await front.run(request, { hired: true });
  assertEquals([refused.status, refused.error], ["failed", "not offered for hire here"]);
  assertEquals((await front.run(request)).status, "completed");
});

test("a task is seen by its owner on every machine, queued, waited for or named by a client", async (bench) => {
  const front = bench.engine({ workers: 0 });
  bench.engine();
  const other = bench.engine({ workers: 0 });
  const request = { task_type: "echo", description: "x" };
  const mine = { hired: true, owner: "one" };
  const client = { key_id: "one", request_id: "r", context_id: "c", message: null };
  const ids = [
    (await front.run(request, mine)).id,
    (await front.enqueue(request, mine)).id,
    // As one from before there were owners.
    (await front.enqueue(request, { hired: true, client })).id,
  ];
  for (const id of ids) {
    await standing(other, id, "completed");
    const seenBy = (key: string | undefined) =>
      other.get(id, { hired: true, owned_by: (owner) => owner === key });
    assertEquals((await seenBy("one")).id, id);
    for (const key of ["two", undefined]) {
      await assertRejects(() => seenBy(key), SvcError, "there is no task");
    }
  }
});

test("a worker that stops hands its tasks over without their having used an attempt", async (bench) => {
  const front = bench.engine({ workers: 0 });
  const first = bench.engine();
  const { id } = await front.enqueue({ task_type: "patient" });
  await standing(front, id, "running");
  await first.close();
  assertEquals((await front.get(id)).status, "queued");
  bench.engine();
  const { attempts, worker } = await standing(front, id, "running");
  assertEquals([attempts, worker], [1, "worker 2"]);
  await front.cancel(id);
});

test("pause and workers hold for every process, and are kept", async (bench) => {
  const front = bench.engine({ workers: 0 });
  const worker = bench.engine();
  await front.pause();
  await front.setWorkers(1);
  const { id } = await front.enqueue({ task_type: "patient" });
  const { id: second } = await front.enqueue({ task_type: "patient" });
  const done = await front.run({ task_type: "echo", description: "at once" });
  assertEquals(done.status, "completed");
  await worker.close();
  bench.engine();
  const status = await until(() => front.status(), ({ workers }) => workers === 1);
  assertEquals(status, {
    paused: true,
    workers: 1,
    busy: 0,
    queued: 2,
    running: 0,
    completed: 1,
    failed: 0,
  });
  await front.resume();
  await standing(front, id, "running");
  assertEquals((await front.get(second)).status, "queued");
  assertEquals((await front.list({ limit: 2 })).tasks.map((it) => it.id), [done.id, second]);
  const { next_cursor: cursor } = await front.list({ limit: 2 });
  assertEquals((await front.list({ limit: 2, cursor })).tasks.map((it) => it.id), [id]);
  await front.cancel(id);
  await standing(front, second, "running");
  await front.cancel(second);
});

test("a server that is away is told of within a bounded time, and used again when it is back", async (bench) => {
  const engine = bench.engine();
  const request = { task_type: "echo", description: "x" };
  const { id } = await engine.run(request);
  await bench.server.kill();
  const asks = [() => engine.run(request), () => engine.get(id), () => engine.status()];
  await Promise.all(asks.map(async (ask) => {
    const error = await assertRejects<SvcError>(async () => await ask(), SvcError);
    assertEquals(error.code, "unavailable");
  }));
  await bench.server.start();
  const again = await retried(() => engine.run(request));
  assertEquals(again.status, "completed");
  assertEquals((await engine.get(id)).status, "completed");
});

/** Asks until the answer is the one that is waited for, or for too long. */
async function until<T>(ask: () => Promise<T>, fits: (answer: T) => boolean): Promise<T> {
  for (let n = 0;; n++) {
    const answer = await ask();
    if (fits(answer) || n === 2_000) return answer;
    await delay(25);
  }
}

/** Calls until it is answered. */
async function retried<T>(call: () => Promise<T>): Promise<T> {
  for (let n = 0;; n++) {
    try {
      return await call();
    } catch (error) {
      if (n === 10) throw error;
    }
  }
}

test("the end of a task is reported by one of the front doors, once", async (bench) => {
  const told: string[] = [];
  const deliver = ({ url }: { url: string }) => Promise.resolve(void told.push(url));
  const front = bench.engine({ deliver });
  bench.engine({ deliver });
  const callback = { id: "", url: "http://a.example/", key_id: "k" };
  const { id } = await front.enqueue({ task_type: "echo", description: "x" }, { callback });
  await standing(front, id, "completed");
  const events = async () => (await front.steps(id)).map(({ event }) => event);
  await until(events, (it) => it.includes("callback"));
  await front.setCallback(id, { ...callback, id: "late", url: "http://b.example/" });
  await until(() => front.callbacks(id), (it) => it.length === 0);
  assertEquals(told, ["http://a.example/", "http://b.example/"]);
  assertEquals((await events()).slice(-2), ["callback", "callback"]);
});

test("a client's request makes one task, and the client finds it among its own", async (bench) => {
  const engine = bench.engine();
  const client = { key_id: "k", request_id: "r", context_id: "c", message: { said: "x" } };
  const request = { task_type: "echo", description: "x" };
  const [first, second] = [
    await engine.enqueue(request, { client }),
    await engine.enqueue(request, { client }),
  ];
  assertEquals(second.id, first.id);
  assertEquals(await engine.client(first.id), client);
  assertEquals([await engine.taskOf(client), await engine.taskOf({ ...client, key_id: "x" })], [
    first.id,
    undefined,
  ]);
  const id = newTaskId();
  const another = { ...client, key_id: "named", request_id: "s" };
  assertEquals((await engine.enqueue(request, { id, client: another })).id, id);
  await standing(engine, first.id, "completed");
  const page = await engine.listOf({ key_id: "k", limit: 10 });
  assertEquals([page.total, page.tasks.map(({ id }) => id)], [1, [first.id]]);
  assertEquals((await engine.listOf({ key_id: "other", limit: 10 })).total, 0);
});

test("the oldest ended tasks are forgotten, with their log and what they made", async (bench) => {
  const strays = [bench.strayFile("t-1"), bench.strayFile("t-2")];
  const engine = bench.engine({ keep_tasks: 1 });
  const request = { task_type: "echo", description: "x" };
  const first = await engine.run(request);
  await Promise.all(Array.from({ length: 248 }, () => engine.run(request)));
  const last = await engine.run(request);
  await until(async () => (await engine.list({ limit: 3 })).tasks.length, (it) => it === 1);
  await assertRejects(() => engine.get(first.id), SvcError, "no task");
  assertEquals(strays.map((path) => exists(path)), [false, false]);
  assertEquals((await engine.get(last.id)).status, "completed");
  const made = await engine.openArtifact(last.id, "echo.txt");
  assertEquals(await new Response(made).text(), "x");
  const log = await engine.log({ n: 1000 });
  assertEquals(new Set(log.map(({ task_id }) => task_id)), new Set([last.id]));
});

test("a server that has lost its data is set up again", async (bench) => {
  const engine = bench.engine();
  const request = { task_type: "echo", description: "x" };
  const { id } = await engine.run(request);
  await engine.pause();
  await bench.server.lose();
  const again = await retried(() => engine.run(request));
  assertEquals(again.status, "completed");
  await assertRejects(() => engine.get(id), SvcError, "no task");
  const { paused, completed } = await engine.status();
  assertEquals([paused, completed], [false, 1]);
});

test("a task whose last worker died is given up, although nobody takes tasks any more", async (bench) => {
  const front = bench.engine({ workers: 0 });
  const { id } = await front.enqueue({ task_type: "patient" }, { max_attempts: 1 });
  const args = [
    "run",
    "--quiet",
    "--no-check",
    "-A",
    import.meta.resolve("./testdata/worker_main.ts"),
    bench.server.url,
  ];
  const child = new Deno.Command(Deno.execPath(), { args, stdin: "null", stdout: "null" })
    .spawn();
  await standing(front, id, "running");
  child.kill("SIGKILL");
  await child.status;
  const { error, attempts } = await standing(front, id, "failed");
  assertEquals([error, attempts], ["lost with its worker doomed, attempt 1 of 1", 1]);
});

test("a task that ends while the server is away is answered when it is back, as done once", async (bench) => {
  const front = bench.engine({ workers: 0 });
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  let times = 0;
  const slow: Executor = {
    task_type: "slow",
    async run() {
      times++;
      begun.resolve();
      await gate.promise;
      return { summary: "done", size: 4 };
    },
  };
  const executors = new ExecutorRegistry([slow]);
  bench.engine({ executors, task_types: ["slow"] });
  const any = bench.engine({ workers: 0, executors });
  const answer = any.run({ task_type: "slow", description: "x" });
  await begun.promise;
  await bench.server.kill();
  gate.resolve();
  await assertRejects(() => front.status(), SvcError);
  await bench.server.start();
  const { status, attempts, id } = await answer;
  assertEquals([status, attempts, times], ["completed", 1, 1]);
  const events = (await retried(() => front.steps(id))).map(({ event }) => event);
  assertEquals(events, ["enqueued", "started", "completed"]);
});
