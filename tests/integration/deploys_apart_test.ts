/** Deploys of one target by several daemons of a user, with homes of their own. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path";
import { Hire, shellTarget, writePolicy } from "../support/hire.ts";
import { until } from "../support/scripted.ts";
import { can_run_svc, type Daemon, Place } from "../support/svc.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Json = any;

const ignore = !can_run_svc || Deno.build.os === "windows";

/** What two daemons deploy: a directory, a server that says whether it is well, two homes. */
class Both implements AsyncDisposable {
  readonly one = new Place();
  readonly two = new Place();
  readonly dir = this.one.mkdir("deployed");
  well = true;
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("", { status: this.well ? 200 : 503 }),
  );

  /** Both have the targets whose commands run these lines of shell. */
  constructor(lines: Record<string, string>) {
    const health_url = `http://127.0.0.1:${this.#server.addr.port}/`;
    const deploy_targets = Object.entries(lines)
      .map(([name, line]) => shellTarget(name, this.dir, line, { health_url }));
    for (const place of [this.one, this.two]) writePolicy(place, { deploy_targets });
  }

  /** The lines that the commands have written. */
  get seen(): string[] {
    try {
      return Deno.readTextFileSync(join(this.dir, "seen")).trim().split("\n");
    } catch {
      return [];
    }
  }

  /** Lets commands that wait for it go on. */
  letGo(): void {
    Deno.writeTextFileSync(join(this.dir, "go"), "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.letGo();
    await this.two[Symbol.asyncDispose]();
    await this.one[Symbol.asyncDispose]();
    await this.#server.shutdown();
  }
}

const SHORT = "echo begin >>seen; sleep 0.3; echo end >>seen";
const HELD = "echo begin >>seen; until [ -e go ]; do sleep 0.05; done; echo end >>seen";

/** Whether a deploy began before the one before it had ended. */
function overlaps(seen: readonly string[]): boolean {
  return seen.some((line, n) => line !== (n % 2 === 0 ? "begin" : "end"));
}

async function call(daemon: Daemon, method: string, params: Json = {}): Promise<Json> {
  await using client = await daemon.rpc();
  return await client.rpc.call(method, params);
}

async function deploy(daemon: Daemon, target: string, options: Json = {}): Promise<string> {
  const extra = { target };
  const asked = { task_type: "deploy", description: "x", effort: "minimal", extra, ...options };
  return (await call(daemon, "queue.enqueue", asked)).id;
}

/** The record of a task that has ended. */
async function ended(daemon: Daemon, task_id: string): Promise<Json> {
  let task: Json;
  await until(async () => {
    task = await call(daemon, "task.get", { task_id });
    return task.status === "completed" || task.status === "failed";
  }, `the end of ${task_id}`);
  return task;
}

async function notes(daemon: Daemon, id: string): Promise<string[]> {
  const { entries } = await call(daemon, "queue.wal", { n: 1000 });
  return entries.filter(({ task_id, event }: Json) => task_id === id && event === "note")
    .map(({ detail }: Json) => detail);
}

async function waits(daemon: Daemon, id: string, target: string): Promise<void> {
  await until(
    async () => (await notes(daemon, id)).includes(`waits for another deploy of target ${target}`),
    "the note that it waits",
  );
}

Deno.test({
  name: "serve and agent-serve with two homes never deploy one target at the same time",
  ignore,
  async fn() {
    await using both = new Both({ server: SHORT });
    const daemon = await both.one.serve();
    await using hire = await Hire.serve(both.two);
    const body = {
      task_type: "deploy",
      query: "x",
      effort: "minimal",
      extra: { target: "server" },
    };
    const [ids, ...hired] = await Promise.all([
      Promise.all([deploy(daemon, "server"), deploy(daemon, "server"), deploy(daemon, "server")]),
      hire.task(body),
      hire.task(body),
      hire.task(body),
    ]);
    for (const { status, error } of hired) assertEquals(status, "completed", error);
    for (const id of ids) assertEquals((await ended(daemon, id)).status, "completed");
    assertEquals(both.seen.length, 12);
    assert(!overlaps(both.seen), both.seen.join());
  },
});

Deno.test({
  name: "control: what is not one target overlaps, and the probe sees it",
  ignore,
  async fn() {
    const line = `echo begin >>seen
      until [ "$(grep -c begin seen)" = 2 ]; do sleep 0.05; done; echo end >>seen`;
    await using both = new Both({ server: line, other: line });
    const [one, two] = await Promise.all([both.one.serve(), both.two.serve()]);
    const first = await deploy(one, "server");
    const second = await deploy(two, "other");
    assertEquals((await ended(one, first)).status, "completed");
    assertEquals((await ended(two, second)).status, "completed");
    assert(overlaps(both.seen), both.seen.join());
  },
});

Deno.test({
  name: "a deploy that waits says so, can be cancelled, ends at its deadline, and blocks nothing",
  ignore,
  async fn() {
    await using both = new Both({ server: HELD });
    const [one, two] = await Promise.all([both.one.serve(), both.two.serve()]);
    const first = await deploy(one, "server");
    await until(() => both.seen.length === 1, "the first command");
    const cancelled = await deploy(two, "server");
    await waits(two, cancelled, "server");
    await call(two, "queue.cancel", { task_id: cancelled });
    assertEquals((await ended(two, cancelled)).cancelled, true);
    const late = await deploy(two, "server", { timeout_ms: 1000, max_attempts: 1 });
    assertStringIncludes((await ended(two, late)).error, "deadline of 1s exceeded");
    assertEquals(await notes(two, late), ["waits for another deploy of target server"]);
    assertEquals((await call(one, "task.get", { task_id: first })).status, "running");
    const last = await deploy(two, "server");
    await waits(two, last, "server");
    both.letGo();
    assertEquals((await ended(one, first)).status, "completed");
    assertEquals((await ended(two, last)).status, "completed");
    assertEquals(both.seen, ["begin", "end", "begin", "end"]);
  },
});

Deno.test({
  name: "a daemon that is killed frees the target, once the command that it left has ended",
  ignore,
  async fn() {
    await using both = new Both({ server: HELD });
    const [one, two] = await Promise.all([both.one.serve(), both.two.serve()]);
    await deploy(one, "server");
    await until(() => both.seen.length === 1, "the first command");
    const second = await deploy(two, "server");
    await waits(two, second, "server");
    await one.kill();
    both.letGo();
    assertEquals((await ended(two, second)).status, "completed");
    assertEquals(both.seen, ["begin", "end", "begin", "end"]);
  },
});

Deno.test({
  name: "a daemon that is killed while it watches a service frees the target at once",
  ignore,
  async fn() {
    await using both = new Both({ server: SHORT });
    both.well = false;
    const [one, two] = await Promise.all([both.one.serve(), both.two.serve()]);
    const first = await deploy(one, "server");
    await until(
      async () => (await notes(one, first)).includes("waiting until server is healthy"),
      "the end of the first command",
    );
    const second = await deploy(two, "server");
    await waits(two, second, "server");
    assertEquals(both.seen.length, 2, "control: the lock holds while the first watches");
    await one.kill();
    await until(() => both.seen.length === 4, "the second command");
    both.well = true;
    assertEquals((await ended(two, second)).status, "completed");
  },
});
