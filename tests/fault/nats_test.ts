/**
 * Tasks on NATS while workers die. SVC_SCALE=1 takes 1,000 tasks and kills a worker every second;
 * without it 60 tasks and two kills.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { delay } from "@std/async";
import { join } from "@std/path";
import { RpcClient } from "../../src/client/rpc.ts";
import { FINAL_EVENTS, type TaskRecord } from "../../src/features/tasks/task.ts";
import { Hire, shellTarget, writePolicy } from "../support/hire.ts";
import { connected, has_nats, NatsServer, natsToml, TaskWorker } from "../support/nats.ts";
import { can_run_svc, Place } from "../support/svc.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Json = any;

const ignore = !can_run_svc || !has_nats || Deno.build.os !== "linux";
const FULL = !ignore && Deno.env.get("SVC_SCALE") === "1";
const TASKS = FULL ? 1_000 : 60;
const WORKERS = 3;
const TARGETS = 4;
/** Of so many tasks two are waited for by their clients. */
const WAITED_FOR = 20;
/** How often a task of the operator's is begun at most; a hired one three times. */
const OWN_ATTEMPTS = 100;
const KILL_EVERY_MS = 1_000;

/** Waits until something holds. @throws when it does not within two minutes, or a quarter of an hour. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + (FULL ? 900_000 : 120_000);
  while (!await holds()) {
    assert(performance.now() < end, `${what}: not yet`);
    await delay(50);
  }
}

/** Takes the reports of tasks' ends, and says how often each came. */
class Reports implements AsyncDisposable {
  readonly times = new Map<string, number>();
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      if (request.method === "POST") {
        const { id } = await request.json();
        this.times.set(id, (this.times.get(id) ?? 0) + 1);
      }
      return new Response("ok");
    },
  );

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** A home whose tasks are on the server, with targets that take a moment and leave a line in `begun`. */
function home(server: NatsServer, health_url: string, begun: string): Place {
  const place = new Place();
  place.configure(natsToml(server));
  const targets = Array.from(
    { length: TARGETS },
    (_, n) => shellTarget(`t${n}`, place.dir, `echo $$ >>${begun}; sleep 0.2`, { health_url }),
  );
  writePolicy(place, { deploy_targets: targets });
  return place;
}

Deno.test({
  name: `${TASKS} tasks at two front doors all end, each once, while workers are killed`,
  ignore,
  async fn() {
    await using data = new Place();
    await using server = await NatsServer.start(join(data.dir, "js"));
    await using reports = new Reports();
    const begun = join(data.dir, "begun");
    const places = [1, 2, 3].map(() => home(server, reports.url, begun));
    await using cleanup = new AsyncDisposableStack();
    for (const place of places) cleanup.use(place);
    const fronts = await Promise.all(
      places.slice(0, 2).map((place) => Hire.serve(place, { args: ["--allow-private"] })),
    );
    for (const front of fronts) cleanup.use(front);
    const startWorker = () => TaskWorker.start(places[2], "--workers", String(TARGETS));
    const workers = await Promise.all(Array.from({ length: WORKERS }, startWorker));
    cleanup.defer(async () => {
      for (const worker of workers) await worker.kill();
    });

    await Promise.all(fronts.map(connected));

    const began = performance.now();
    const doors = fronts.map((front, n) => ({ front, place: places[n] }));
    let all_taken = false;
    const taking = takeTasks(doors, reports.url).finally(() => all_taken = true);
    let kills = 0;
    /** Kills a worker and starts another in its place. */
    const replaceOne = async () => {
      kills++;
      await workers.shift()?.kill();
      workers.push(await startWorker());
    };
    const ended = async () => {
      const { queued, running } = await call(places[0], "queue.status");
      return queued + running === 0;
    };
    if (FULL) {
      const replacements: Promise<void>[] = [];
      while (!all_taken || !await ended()) {
        if (workers.length > 1) replacements.push(replaceOne());
        await delay(KILL_EVERY_MS);
      }
      await Promise.all(replacements);
    } else {
      for (const share of [0.1, 0.25]) {
        await until("reports", () => reports.times.size >= TASKS * share);
        await replaceOne();
      }
    }
    const { hired, own, answers } = await taking;
    hired.push(...(await Promise.all(answers)).map(({ id }) => id));
    await until("the end of all tasks", ended);
    const took_s = (performance.now() - began) / 1000;
    await until("all reports", () => reports.times.size === hired.length);

    const once = (ids: string[]) => new Map(ids.map((id) => [id, 1]));
    assertEquals(await endsOf(places[1]), once([...hired, ...own]));
    assertEquals(reports.times, once(hired));
    const { tasks }: { tasks: TaskRecord[] } = await call(places[1], "task.list", { limit: 1_000 });
    assertEquals(tasks.length, TASKS);
    const failed = tasks.filter(({ status }) => status !== "completed");
    for (const { error } of failed) assertMatch(error!, /lost with its worker .* 3 of 3/);
    if (!FULL) assertEquals(failed, []);
    const attempts = tasks.reduce((sum, { attempts }) => sum + attempts, 0);
    const lines = Deno.readTextFileSync(begun).trimEnd().split("\n").length;
    assert(lines >= TASKS - failed.length && lines <= attempts, `${lines} of ${attempts}`);
    console.log(
      `${TASKS} tasks, ${kills} kills, ${took_s.toFixed(0)} s: ${attempts} attempts begun, ` +
        `${TASKS - failed.length} completed, ${failed.length} failed after three lost workers`,
    );
  },
});

/** What the front doors have answered. */
interface Taken {
  /** Of hired tasks, whose ends are reported. */
  hired: string[];
  /** Of the operator's, which may be begun often. */
  own: string[];
  /** The records of hired tasks that their clients wait for. */
  answers: Promise<Json>[];
}

/** Asks for the tasks at both front doors at once. */
async function takeTasks(
  doors: readonly { front: Hire; place: Place }[],
  callback_url: string,
): Promise<Taken> {
  const taken: Taken = { hired: [], own: [], answers: [] };
  const askAt = async ({ front, place }: typeof doors[number], first: number) => {
    for (let n = first; n < TASKS; n += doors.length) {
      const extra = { target: `t${n % TARGETS}` };
      const task = { task_type: "deploy", query: `task ${n}`, effort: "minimal", extra };
      if (n % 4 >= 2) {
        const { id } = await call(place, "queue.enqueue", { ...task, max_attempts: OWN_ATTEMPTS });
        taken.own.push(id);
      } else if (n % WAITED_FOR < 2) taken.answers.push(front.task({ ...task, callback_url }));
      else taken.hired.push(await front.queue({ ...task, callback_url }));
    }
  };
  await Promise.all(doors.map(askAt));
  return taken;
}

/** Calls a verb of the daemon in a home. */
async function call(place: Place, method: string, params: Json = {}): Promise<Json> {
  const path = join(place.home, "run", "svc.sock");
  const rpc = new RpcClient(await Deno.connect({ transport: "unix", path }));
  try {
    return await rpc.ask(method, params);
  } finally {
    rpc.close();
    await rpc.closed;
  }
}

/** How often the log says of each task that it has ended. */
async function endsOf(place: Place): Promise<Map<string, number>> {
  const { entries } = await call(place, "queue.wal", { n: 10_000 });
  const ends = new Map<string, number>();
  for (const { task_id, event } of entries) {
    if (FINAL_EVENTS.has(event)) ends.set(task_id, (ends.get(task_id) ?? 0) + 1);
  }
  return ends;
}
