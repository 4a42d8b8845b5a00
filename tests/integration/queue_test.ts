/** The task queue of a real daemon: durable, cancellable, and seen from the command line. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import type { TaskPage } from "../../src/features/tasks/engine.ts";
import type { TaskLogEntry, TaskRecord } from "../../src/features/tasks/task.ts";
import { Random } from "../support/random.ts";
import { until as condition } from "../support/scripted.ts";
import { can_run_svc, type Daemon, gone, Place } from "../support/svc.ts";

const ignore = !can_run_svc || Deno.build.os === "windows";

async function call(daemon: Daemon, method: string, params = {}) {
  await using client = await daemon.rpc();
  return await client.rpc.call(method, params);
}

async function enqueue(daemon: Daemon, workdir: string, description: string, options = {}) {
  const params = { task_type: "code", description, extra: { workdir }, ...options };
  return (await call(daemon, "queue.enqueue", params) as TaskRecord).id;
}

/** Waits until the task is as wanted. */
async function until(
  daemon: Daemon,
  task_id: string,
  status: TaskRecord["status"],
): Promise<TaskRecord> {
  await using client = await daemon.rpc();
  let task: TaskRecord | undefined;
  for (const end = Date.now() + 20_000; Date.now() < end; await delay(50)) {
    task = await client.rpc.call("task.get", { task_id });
    if (task!.status === status) return task!;
  }
  throw new Error(`task did not become ${status}: ${JSON.stringify(task)}`);
}

/** Waits until the file is there and has an end of line. */
async function line(path: string): Promise<string> {
  for (const end = Date.now() + 20_000; Date.now() < end; await delay(20)) {
    try {
      const text = await Deno.readTextFile(path);
      if (text.endsWith("\n")) return text.trim();
    } catch {
      // Not yet.
    }
  }
  throw new Error(`nothing was written to ${path}`);
}

/** Waits until one task runs. */
async function oneRuns(daemon: Daemon): Promise<void> {
  await using client = await daemon.rpc();
  for (const end = Date.now() + 20_000; Date.now() < end; await delay(20)) {
    if ((await client.rpc.call("queue.status")).running === 1) return;
  }
  throw new Error("no task began to run");
}

async function events(daemon: Daemon, task_id: string): Promise<string[]> {
  const { entries } = await call(daemon, "queue.wal", { n: 1000 });
  return (entries as TaskLogEntry[]).filter((it) => it.task_id === task_id).map((it) => it.event);
}

/** Processes whose command line has `mark` in it. */
function processesWith(mark: string): number[] {
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (Deno.readTextFileSync(`/proc/${name}/cmdline`).includes(mark)) found.push(Number(name));
    } catch {
      // Gone already.
    }
  }
  return found;
}

Deno.test({
  name: "a task is enqueued, run in a session, and its steps are in the log",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("w");
    const id = await enqueue(daemon, workdir, "run echo hi");
    const task = await until(daemon, id, "completed");
    assertEquals([task.summary, task.size, task.attempts], ["hi", 2, 1]);
    assert(task.created_at <= task.started_at! && task.started_at! <= task.completed_at!);
    assertEquals(await events(daemon, id), ["enqueued", "started", "note", "completed"]);
    let session: { title: string; state: string } | undefined;
    // It ends once the end of the task is recorded.
    await condition(async () => {
      const { sessions } = await call(daemon, "session.list", { include_ended: true });
      assertEquals(sessions.length, 1);
      [session] = sessions;
      return session!.state === "ended";
    }, "the session ends");
    assertEquals(session!.title, `task ${id}`);

    const nowhere = () => enqueue(daemon, join(place.dir, "nowhere"), "run echo hi");
    await assertRejects(nowhere, Error, "does not exist");
  },
});

Deno.test({
  name: "a task that a crash cut off is run again and ends once, if its turn may not go on",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure(`[agent]\ncontinue = "never"\n`);
    const first = await place.serve();
    const workdir = place.mkdir("w");
    // What the crash leaves behind waits until the place is removed, and writes nothing.
    const script = "if [ -e begun ]; then echo 2 >> begun; else echo 1 > begun; " +
      "while [ -e begun ]; do sleep 0.05; done; exit 1; fi; echo end >> ended";
    const id = await enqueue(first, workdir, `run ${script}`);
    const waiting = await enqueue(first, workdir, "run echo later");
    await line(join(workdir, "begun"));
    await first.kill();

    const second = await place.serve();
    const task = await until(second, id, "completed");
    assertEquals(task.attempts, 2);
    assertEquals(await line(join(workdir, "ended")), "end");
    assertEquals((await line(join(workdir, "begun"))).split("\n").length, 2);
    assertEquals((await until(second, waiting, "completed")).summary, "later");
    assertEquals(await events(second, id), [
      ...["enqueued", "started", "note", "retry"],
      // Its session cannot go on; a new one works.
      ...["started", "note", "note", "completed"],
    ]);
    const { sessions } = await call(second, "session.list");
    assertEquals(sessions, [], "the session of the first attempt is not left over");
    await second.kill();
    const third = await place.serve();
    assertEquals(await until(third, id, "completed"), task);
  },
});

Deno.test({
  name: "a task that takes its daemon down with it is given up after its attempts",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure(`[agent]\ncontinue = "never"\n`);
    const workdir = place.mkdir("w");
    let daemon = await place.serve();
    const id = await enqueue(daemon, workdir, "run echo x >> begun; sleep 30", { max_attempts: 2 });
    for (const begun of ["x", "x\nx"]) {
      for (const end = Date.now() + 20_000; await line(join(workdir, "begun")) !== begun;) {
        assert(Date.now() < end, "the next attempt has begun");
        await delay(20);
      }
      await daemon.kill();
      daemon = await place.serve();
    }
    const { error, attempts } = await until(daemon, id, "failed");
    assertEquals(error, "lost when the daemon stopped, attempt 2 of 2");
    assertEquals(attempts, 2);
    const { sessions } = await call(daemon, "session.list");
    assertEquals(sessions, [], "nor is a session left over");
  },
});

Deno.test({
  name: "cancelling a task ends its processes, and it stays cancelled after a restart",
  ignore: ignore || Deno.build.os !== "linux",
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("w");
    const mark = `60.${Math.floor(Math.random() * 1e9)}`;
    const id = await enqueue(daemon, workdir, `run echo go > begun; sleep ${mark}`);
    await line(join(workdir, "begun"));
    const pids = processesWith(mark);
    assert(pids.length > 0, "it runs");
    const { stdout, code } = await place.svc(["ctl", "cancel", id]);
    assertEquals([stdout, code], [`cancelled ${id}\n`, 0]);
    for (const pid of pids) assert(await gone(pid), `process ${pid} is gone`);
    const task = await until(daemon, id, "failed");
    assertEquals([task.error, task.cancelled], ["cancelled", true]);
    await daemon.kill();
    const again = await place.serve();
    assertEquals(await until(again, id, "failed"), task);
    assertEquals(await events(again, id), ["enqueued", "started", "note", "cancelled"]);
    const twice = await place.svc(["ctl", "cancel", id]);
    assertEquals(twice.code, 0);
  },
});

Deno.test({
  name: "a graceful stop puts a running task back, and the next daemon runs it",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure(`[agent]\ncontinue = "never"\n`);
    const first = await place.serve();
    const workdir = place.mkdir("w");
    const id = await enqueue(first, workdir, "run echo x > begun; [ -e go ] || sleep 60; echo ok");
    await line(join(workdir, "begun"));
    await call(first, "daemon.shutdown", { grace_s: 1 });
    assertEquals((await first.ended()).code, 0, await first.log);
    assertEquals([...Deno.readDirSync(place.home)].filter((it) => it.name.includes("-wal")), []);
    await Deno.writeTextFile(join(workdir, "go"), "");
    const second = await place.serve();
    const task = await until(second, id, "completed");
    assertEquals([task.summary, task.attempts], ["ok", 1]);
    const { sessions } = await call(second, "session.list");
    assertEquals(sessions, []);
  },
});

Deno.test({
  name: "pause, workers and queued tasks survive a restart",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure("[tasks]\nworkers = 3\n");
    let daemon = await place.serve();
    const workdir = place.mkdir("w");
    assertEquals(await call(daemon, "queue.workers"), { workers: 3, busy: 0 });
    await place.svc(["ctl", "pause"]);
    const set = await place.svc(["ctl", "workers", "1"]);
    assertEquals(set.stdout, "1 worker, 0 busy\n");
    const ids: string[] = [];
    for (const n of [1, 2, 3]) ids.push(await enqueue(daemon, workdir, `run echo ${n} >> order`));
    await daemon.stop();
    daemon = await place.serve();
    await delay(200);
    const status = await call(daemon, "queue.status");
    assertEquals([status.paused, status.workers, status.queued], [true, 1, 3]);
    const resumed = await place.svc(["ctl", "resume"]);
    assertStringIncludes(resumed.stdout, "taking tasks");
    for (const id of ids) await until(daemon, id, "completed");
    assertEquals(await line(join(workdir, "order")), "1\n2\n3");
  },
});

Deno.test({
  name: "a task that is waited for is answered at its deadline or cancelled with its client",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("w");
    const request = { task_type: "code", description: "run sleep 60", extra: { workdir } };
    const done = await call(daemon, "task.run", { ...request, description: "run echo hi" });
    assertEquals([done.status, done.summary], ["completed", "hi"]);
    const late = await call(daemon, "task.run", { ...request, timeout_ms: 500 });
    assertEquals([late.status, late.error], ["failed", "deadline of 500ms exceeded"]);
    {
      await using client = await daemon.rpc();
      client.rpc.call("task.run", request).catch(() => {});
      await oneRuns(daemon);
    }
    const { tasks: [{ id }] } = await call(daemon, "task.list", { limit: 1 });
    assertEquals((await until(daemon, id, "failed")).error, "cancelled by the client");
    const gone = new AbortController();
    const params = { jsonrpc: "2.0", id: 1, method: "task.run", params: request };
    const asked = fetch(`${daemon.url}/v1/rpc`, {
      method: "POST",
      headers: { authorization: `Bearer ${daemon.token}`, "content-type": "application/json" },
      body: JSON.stringify(params),
      signal: gone.signal,
    });
    const rejected = assertRejects(() => asked, DOMException);
    await oneRuns(daemon);
    gone.abort();
    await rejected;
    const { tasks } = await call(daemon, "task.list", { limit: 1 });
    assert(tasks[0].id !== id);
    assertEquals((await until(daemon, tasks[0].id, "failed")).error, "cancelled by the client");
    const lost = place.svc([
      ...["ctl", "call", "task.run"],
      JSON.stringify(request),
    ]);
    await oneRuns(daemon);
    await daemon.kill();
    assertEquals((await lost).code, 1);
    const again = await place.serve();
    const page = await call(again, "task.list", { limit: 1 });
    assertEquals(page.tasks[0].error, "lost when the daemon stopped");
  },
});

Deno.test({
  name: "the command line enqueues, lists and shows the log, and says what is wrong",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const workdir = place.mkdir("w");
    const enqueued = await place.svc(["ctl", "enqueue", "code", "run echo hi", "--workdir", "w"]);
    assertEquals(enqueued.code, 0, enqueued.stderr);
    const id = enqueued.stdout.trim();
    assertEquals((await until(daemon, id, "completed")).summary, "hi");
    const tasks = await place.svc(["ctl", "tasks", "--state", "completed"]);
    assert(tasks.stdout.split("\n")[1].startsWith(`${id}  completed  code`), tasks.stdout);
    const json = JSON.parse((await place.svc(["ctl", "tasks", "--json"])).stdout);
    assertEquals(json.tasks[0].id, id);
    const wal = await place.svc(["ctl", "wal", "2"]);
    assert(wal.stdout.includes("completed  2 bytes"), wal.stdout);
    const status = JSON.parse((await place.svc(["ctl", "status", "--json"])).stdout);
    assertEquals([status.completed, status.busy], [1, 0]);
    const wrong: [string[], number, string][] = [
      [["enqueue", "cod", "x"], 1, 'did you mean "code"?'],
      [["enqueue", "code", "x"], 2, "--workdir"],
      [["enqueue", "code", "--workdir", workdir], 2, "<description> is missing"],
      [["workers", "65"], 2, "from 0 to 64"],
      [["tasks", "--state", "complete"], 2, 'did you mean "completed"?'],
      [["cancel", id], 1, "already completed"],
      [["cancel", "x"], 1, "t-<ULID>"],
      [["paus"], 2, 'did you mean "svc ctl pause"?'],
    ];
    for (const [args, code, message] of wrong) {
      const result = await place.svc(["ctl", ...args]);
      assertStringIncludes(result.stderr, message);
      assertEquals(result.code, code, args.join(" "));
    }
    assertEquals(Deno.statSync(join(place.home, "state.db")).mode! & 0o777, 0o600);
    await daemon.stop();
    Deno.chmodSync(join(place.home, "state.db"), 0o640);
    const refused = await place.svc(["serve"]);
    assertEquals(refused.code, 1);
    assertStringIncludes(refused.stderr, "has mode 0640");
  },
});

Deno.test({
  name: "more tasks than fit on a page are listed to the last, page by page",
  ignore,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    const ids: string[] = [];
    {
      await using client = await daemon.rpc();
      await client.rpc.call("queue.pause");
      const params = { task_type: "code", description: "x", extra: { workdir: place.mkdir("w") } };
      for (let n = 0; n < 101; n++) {
        ids.unshift((await client.rpc.call("queue.enqueue", params)).id);
      }
    }
    const json = async (args: string[]) =>
      JSON.parse((await place.svc([...args, "--json"])).stdout) as TaskPage;
    for (const command of [["task", "list"], ["ctl", "tasks"]]) {
      const { stdout } = await place.svc([...command, "--state", "queued"]);
      const [last, ...others] = stdout.trimEnd().split("\n").reverse();
      assertEquals(others.length, 101, "a head and 100 tasks");
      const { tasks, next_cursor } = await json([...command, "--state", "queued"]);
      assertEquals(tasks.map(({ id }) => id), ids.slice(0, 100));
      const next = [...command, "--state", "queued", "--cursor", next_cursor!];
      assertEquals(last, `… for older tasks: svc ${next.join(" ")}`);
      const rest = (await place.svc(next)).stdout.trimEnd().split("\n");
      assertEquals([rest.length, rest[1].startsWith(ids[100])], [2, true], rest.join("\n"));
      assertEquals((await json(next)).next_cursor, undefined);
    }
    const wrong = await place.svc(["task", "list", "--cursor", "x"]);
    assertEquals(wrong.code, 1);
    assertStringIncludes(wrong.stderr, "cursor must be the next_cursor");
  },
});

Deno.test({
  name: "whenever it crashes: no task is lost, and each one ends exactly once",
  ignore,
  async fn() {
    await using place = new Place();
    place.configure("[tasks]\nworkers = 4\n");
    const workdir = place.mkdir("w");
    const seed = Date.now() % 1e9;
    const random = new Random(seed);
    let daemon = await place.serve();
    const ids: string[] = [];
    const cancelled: string[] = [];
    for (let crash = 0; crash < 4; crash++) {
      for (let n = 0; n < 6; n++) {
        const script = `run echo ${ids.length} >> out; sleep 0.${random.below(4)}`;
        ids.push(await enqueue(daemon, workdir, script, { max_attempts: 10 }));
      }
      const id = random.pick(ids);
      const ended = await call(daemon, "task.cancel", { task_id: id }).catch(() => {});
      if (ended) cancelled.push(id);
      await delay(random.below(400));
      await daemon.kill();
      daemon = await place.serve();
    }
    for (const id of ids) {
      const status = cancelled.includes(id) ? "failed" : "completed";
      await until(daemon, id, status).catch((error) => {
        throw new Error(`seed ${seed}: ${error.message}`);
      });
      const ends = (await events(daemon, id))
        .filter((it) => ["completed", "failed", "cancelled"].includes(it));
      assertEquals(ends, [cancelled.includes(id) ? "cancelled" : "completed"], `seed ${seed}`);
    }
    const { queued, running, busy } = await call(daemon, "queue.status");
    assertEquals([queued, running, busy], [0, 0, 0]);
    assertEquals((await call(daemon, "session.list")).sessions, []);
  },
});
