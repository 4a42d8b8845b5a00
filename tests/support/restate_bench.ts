/** A Restate server, workers behind a balancer, front doors, and witnesses of all that they do. */
import { assertEquals } from "@std/assert";
import { deadline, delay } from "@std/async";
import { join } from "@std/path";
import { createHmac } from "node:crypto";
import { FINAL_EVENTS, type TaskLogEntry } from "../../src/features/tasks/task.ts";
import type { StoredTask } from "../../src/features/tasks/restate/stored_task.ts";
import { Balancer, TcpProxy } from "./balancer.ts";
import { Hire, shellTarget, TOKENS, writePolicy } from "./hire.ts";
import { RestateServer, restateToml, TaskWorker } from "./restate.ts";
import { until } from "./scripted.ts";
import { Place } from "./svc.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
type Json = any;

const TARGETS = 120;
const SLOTS = 6;

/** What the commands of deploys have done: a line when one begins and when it ends. */
export class Witness {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
    Deno.writeTextFileSync(path, "");
  }

  get text(): string {
    return Deno.readTextFileSync(this.path);
  }

  acts(): Map<string, Acts> {
    return actsOf(this.text);
  }
}

/** The workers that have begun and ended a task's command, in order. */
export interface Acts {
  begun: string[];
  ended: string[];
}

/** Returns what a witness has seen of each task, by its commit. */
export function actsOf(text: string): Map<string, Acts> {
  const acts = new Map<string, Acts>();
  for (const [, what, commit, worker] of text.matchAll(/^([be]) (\S+) (\S+)$/gm)) {
    const of = acts.get(commit) ?? { begun: [], ended: [] };
    acts.set(commit, of);
    (what === "b" ? of.begun : of.ended).push(worker);
  }
  return acts;
}

/** Takes callbacks, and tells the deploys' health: which commits run. */
export class Reports implements AsyncDisposable {
  /** How often each task was reported, with a good signature. */
  readonly times = new Map<string, number>();
  unsigned = 0;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(witness: Witness) {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      async (request) => {
        if (request.method !== "POST") return new Response(witness.text.slice(-60_000));
        const body = await request.text();
        if (!isSigned(request.headers, body)) this.unsigned++;
        else {
          const { id } = JSON.parse(body);
          this.times.set(id, (this.times.get(id) ?? 0) + 1);
        }
        return new Response("ok");
      },
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** Reports whether a callback has the signature of a token. */
export function isSigned(headers: Headers, body: string): boolean {
  const text = `${headers.get("webhook-id")}.${headers.get("webhook-timestamp")}.${body}`;
  return TOKENS.some((token) =>
    headers.get("webhook-signature") ===
      `v1,${createHmac("sha256", token).update(text).digest("base64")}`
  );
}

/** One machine for a worker. Its way to the server can be cut, and the balancer's way to it. */
export class Machine implements AsyncDisposable {
  readonly name: string;
  readonly place: Place;
  readonly #bench: Bench;
  readonly #to: TcpProxy;
  readonly #from: TcpProxy;
  #worker: TaskWorker | undefined;

  private constructor(bench: Bench, name: string, to: TcpProxy, from: TcpProxy) {
    this.#bench = bench;
    this.name = name;
    this.#to = to;
    this.#from = from;
    this.place = bench.home(`http://127.0.0.1:${from.port}`);
  }

  static async add(bench: Bench, name: string): Promise<Machine> {
    const from = await TcpProxy.start(Number(new URL(bench.address.url).port));
    return new Machine(bench, name, await TcpProxy.start(), from);
  }

  get worker(): TaskWorker {
    return this.#worker!;
  }

  /** Where a balancer finds its worker. */
  get port(): number {
    return this.#to.port;
  }

  async start(): Promise<void> {
    this.place.env.SVC_WORKER = this.name;
    this.#worker = await TaskWorker.unregistered(
      this.place,
      ...["--workers", String(SLOTS), "--caps", "deploy", "--allow-private"],
    );
    this.#to.target = Number(new URL(this.#worker.url).port);
    this.#bench.names.set(this.#worker.pid, this.name);
  }

  /** Registers the workers behind a balancer; new tasks then go to them. */
  async register(balancer: Balancer): Promise<void> {
    const { code, stderr } = await this.place.svc(["task", "register", balancer.url, "--force"]);
    assertEquals(code, 0, stderr);
  }

  async kill(): Promise<void> {
    await this.#worker?.kill();
  }

  async stop(): Promise<number> {
    return await this.worker.stop();
  }

  /** Cuts the server's way to the worker, or the worker's to the server. */
  cut(way: "to" | "from" | "both"): void {
    if (way !== "from") this.#to.cut();
    if (way !== "to") this.#from.cut();
  }

  mend(): void {
    this.#to.mend();
    this.#from.mend();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#to[Symbol.asyncDispose]();
    await this.#from[Symbol.asyncDispose]();
    await this.place[Symbol.asyncDispose]();
  }
}

/** A task that was asked for. */
export interface Asked {
  commit: string;
  id: string;
}

/** What was wrong with the tasks of one line. */
export interface Violations {
  /** Tasks that have not ended. */
  stuck: number;
  /** Tasks that failed and were not cancelled, or the other way round. */
  failed: number;
  /** Tasks without exactly one end in their log. */
  ends: number;
  /** Attempts whose command ran more than once, or completed tasks whose last one did not run. */
  effects: number;
  /** Tasks that were begun again, although their worker lived. */
  reruns: number;
  /** Tasks whose end was not reported with a signature. */
  callbacks: number;
}

export interface Found extends Violations {
  tasks: number;
  /** Attempts that were begun, also those that do not count. */
  runs: number;
  attempts: number;
}

type Address = Pick<RestateServer, "url" | "admin_url">;

export class Bench implements AsyncDisposable {
  /** More than one make a cluster. */
  readonly servers: RestateServer[];
  /** Where clients find them. */
  readonly address: Address;
  readonly data: Place;
  readonly witness: Witness;
  readonly reports: Reports;
  readonly machines: Machine[] = [];
  /** The first one is registered at the start. */
  readonly balancers: Balancer[] = [];
  readonly doors: { place: Place; front: Hire }[] = [];
  /** The machines of workers, by process. */
  readonly names = new Map<number, string>();
  asked = 0;
  /** Those that were cancelled before they had ended. */
  readonly cancelled = new Set<string>();
  readonly #cleanup = new AsyncDisposableStack();

  private constructor(data: Place, servers: RestateServer[], address: Address) {
    this.data = data;
    this.servers = servers;
    this.address = address;
    this.witness = new Witness(join(data.dir, "witness"));
    this.reports = new Reports(this.witness);
    for (const part of [data, ...servers, this.reports]) this.#cleanup.use(part);
  }

  /** Starts it with so many workers, and two front doors. */
  static async start(workers: number, servers = 1): Promise<Bench> {
    const data = new Place();
    const dir = join(data.dir, "restate");
    if (servers === 1) {
      const server = await RestateServer.start(dir);
      return await new Bench(data, [server], server).#start(workers);
    }
    const cluster = await RestateServer.cluster(dir, servers);
    const before = (urls: string[]) => Balancer.start(urls.map((url) => Number(new URL(url).port)));
    const ingress = await before(cluster.map(({ url }) => url));
    const admin = await before(cluster.map(({ admin_url }) => admin_url));
    const bench = new Bench(data, cluster, { url: ingress.url, admin_url: admin.url });
    for (const balancer of [ingress, admin]) bench.#cleanup.use(balancer);
    return await bench.#start(workers);
  }

  async #start(workers: number): Promise<this> {
    try {
      for (let n = 0; n < workers; n++) await this.addMachine(`w${n}`);
      await Promise.all(this.machines.map((it) => it.start()));
      await this.machines[0].register(await this.addBalancer());
      for (const _ of [0, 1]) {
        const place = this.home(this.address.url);
        this.#cleanup.use(place);
        this.doors.push({ place, front: await serve(place) });
      }
      return this;
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The one server, or the first of several. */
  get server(): RestateServer {
    return this.servers[0];
  }

  /** A home whose tasks are on the server, with targets that take a moment. */
  home(url: string): Place {
    const place = new Place();
    place.configure(restateToml({ url, admin_url: this.address.admin_url }, "workers = 0\n"));
    const act = (what: string) => `echo "${what} $DEPLOY_COMMIT $WORKER" >>${this.witness.path}`;
    const target = (name: string, meanwhile: string) =>
      // One directory, so that it is one target for all workers.
      shellTarget(name, this.data.dir, `${act("b")}; ${meanwhile}; ${act("e")}`, {
        health_url: this.reports.url,
        env: { WORKER: "${SVC_WORKER}" },
      });
    const go = join(this.data.dir, "go");
    writePolicy(place, {
      deploy_targets: [
        ...Array.from(
          { length: TARGETS },
          // Some take longer than a short outage.
          (_, n) => target(`t${n}`, `sleep ${n % 6 === 0 ? 3 : 0.2 + (n % 5) / 10}`),
        ),
        ...Array.from(
          { length: TARGETS },
          (_, n) => target(`held${n}`, `while [ ! -f ${go} ]; do sleep 0.05; done`),
        ),
      ],
    });
    return place;
  }

  /** Lets the commands of the targets `held` end. */
  letGo(): void {
    Deno.writeTextFileSync(join(this.data.dir, "go"), "");
  }

  async addMachine(name: string): Promise<Machine> {
    const machine = await Machine.add(this, name);
    this.#cleanup.use(machine);
    this.machines.push(machine);
    return machine;
  }

  /** Puts a balancer in front of machines; default: of all that there are. */
  async addBalancer(machines = this.machines): Promise<Balancer> {
    const balancer = await Balancer.start(machines.map(({ port }) => port));
    this.balancers.push(balancer);
    return this.#cleanup.use(balancer);
  }

  async restartDoor(n: number): Promise<void> {
    const door = this.doors[n];
    await door.front.kill();
    door.front = await serve(door.place);
  }

  /**
   * Asks for a task until a front door accepts it. The key makes the requests one task.
   *
   * @param waits whether the client waits for its end
   */
  async ask({ target, waits = false }: { target?: string; waits?: boolean } = {}): Promise<Asked> {
    const n = this.asked++;
    const commit = (0xabc000000000 + n).toString(16);
    const body = {
      task_type: "deploy",
      query: `task ${n}`,
      effort: "minimal",
      extra: { target: target ?? `t${n % TARGETS}`, expected_commit: commit },
      callback_url: this.reports.url,
    };
    const headers = { "idempotency-key": commit, ...(waits ? {} : { prefer: "respond-async" }) };
    for (let turn = n;; turn++) {
      const { front } = this.doors[turn % this.doors.length];
      const answer = await front.request("POST", "/api/task", { body, headers })
        .catch(() => undefined);
      if (answer !== undefined && answer.status < 300) return { commit, id: answer.json.id };
      if (answer !== undefined && answer.status !== 503 && answer.status !== 409) {
        throw new Error(`${answer.status} ${answer.text}`);
      }
      await delay(100);
    }
  }

  /** Asks for tasks that last until {@linkcode letGo}, and waits until they have begun. */
  async askHeld(count: number): Promise<Asked[]> {
    const targets = Array.from({ length: count }, (_, n) => `held${n}`);
    const asked = await Promise.all(targets.map((target) => this.ask({ target })));
    const all = () => this.begun(asked).every(({ length }) => length > 0);
    await until(all, "the beginning of all held tasks");
    return asked;
  }

  /** Returns the machines at which each task has begun. */
  begun(asked: readonly Asked[]): string[][] {
    const acts = this.witness.acts();
    return asked.map(({ commit }) => acts.get(commit)?.begun ?? []);
  }

  /** Returns the machine at which most tasks have begun. */
  busiest(asked: readonly Asked[]): Machine {
    const count = (machine: Machine) => this.begunAt(machine, asked);
    return this.machines.toSorted((a, b) => count(b) - count(a))[0];
  }

  /** Returns how many tasks have begun at a machine. */
  begunAt({ name }: Machine, asked: readonly Asked[]): number {
    return this.begun(asked).filter(([first]) => first === name).length;
  }

  async cancel(id: string): Promise<void> {
    const { front } = this.doors[0];
    const { status, json } = await front.request("POST", `/api/task/${id}/cancel`);
    if (status !== 409) assertEquals([status, json.status], [200, "failed"]);
    if (status === 200) this.cancelled.add(id);
  }

  /** Returns the tasks, and their lines, as the server keeps them. */
  async stored(): Promise<Map<string, { task: StoredTask; lines: TaskLogEntry[] }>> {
    const rows = await this.server.query(
      "select service_key, key, value_utf8 from state where service_name = 'svc-task'",
    );
    const found = new Map<string, { task?: StoredTask; lines: TaskLogEntry[] }>();
    for (const { service_key, key, value_utf8 } of rows) {
      const of = found.get(service_key) ?? { lines: [] };
      found.set(service_key, of);
      if (key === "task") of.task = JSON.parse(value_utf8);
      if (key.startsWith("lines ")) of.lines.push(...JSON.parse(value_utf8));
    }
    return found as Map<string, { task: StoredTask; lines: TaskLogEntry[] }>;
  }

  /** Waits until tasks have ended and are reported. @returns whether all did in time */
  async ended(asked: readonly Asked[], patience_ms: number): Promise<boolean> {
    const end = performance.now() + patience_ms;
    while (!asked.every(({ id }) => this.reports.times.has(id))) {
      if (performance.now() > end) return false;
      await delay(50);
    }
    return true;
  }

  /** Counts what was wrong. @param reruns whether a worker died, so that tasks may be begun again */
  async check(asked: readonly Asked[], reruns: boolean): Promise<Found> {
    const stored = await this.stored();
    const acts = this.witness.acts();
    const found: Found = {
      ...{ tasks: asked.length, runs: 0, attempts: 0 },
      ...{ stuck: 0, failed: 0, ends: 0, effects: 0, reruns: 0, callbacks: 0 },
    };
    for (const { id, commit } of asked) {
      const of = stored.get(id);
      if (of === undefined) {
        found.stuck++;
        continue;
      }
      const { task: { run, record: { status, attempts, worker } }, lines } = of;
      found.runs += run;
      found.attempts += attempts;
      if (status === "queued" || status === "running") found.stuck++;
      if ((status === "failed") !== this.cancelled.has(id)) found.failed++;
      if (lines.filter(({ event }) => FINAL_EVENTS.has(event)).length !== 1) found.ends++;
      const name = this.names.get(Number(worker?.split("/").at(-1)));
      if (!isOnce(acts.get(commit), { run, name, completed: status === "completed" })) {
        found.effects++;
      }
      if (!reruns && attempts > 1) found.reruns++;
      if (!this.reports.times.has(id)) found.callbacks++;
      if (Object.values(found).some((it) => it > 0)) explain(found, id, of, acts.get(commit));
    }
    return found;
  }

  /** Returns the calls that are not over; a day later, orphans are forgotten. */
  async calls(): Promise<Json[]> {
    return await this.server.query(
      "select target, status, retry_count, last_failure from sys_invocation " +
        "where status <> 'completed' and target not like 'svc-orphan/%/forget'",
    );
  }

  /** Returns the targets that an attempt still holds. */
  async heldTargets(): Promise<Json[]> {
    return await this.server.query(
      "select service_key, value_utf8 from state where service_name = 'svc-target'",
    );
  }

  /** Returns the commands of tasks that still run. */
  commands(): string[] {
    return [...Deno.readDirSync("/proc")]
      .filter(({ name }) => /^\d+$/.test(name))
      .map(({ name }) => commandLine(name))
      .filter((line) => line.includes(this.witness.path));
  }

  /** Returns the temporary files of workers. */
  files(): string[] {
    return this.machines.flatMap(({ place }) => {
      const dir = place.mkdir("tmp");
      return [...Deno.readDirSync(dir)].map(({ name }) => join(dir, name));
    });
  }

  /** Waits, and says what is under way if it takes too long. */
  async within<T>(ms: number, work: Promise<T>): Promise<T> {
    return await deadline(work, ms).catch(async (error) => {
      if (error.name !== "TimeoutError") throw error;
      const shown = [this.queue(), this.calls().then((calls) => calls.slice(0, 20))];
      console.log(JSON.stringify(await Promise.allSettled(shown)));
      throw error;
    });
  }

  async queue(): Promise<Json> {
    return await this.server.call("svc-queue", "all", "state", { now: Date.now() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { front } of this.doors) await front.kill();
    await this.#cleanup[Symbol.asyncDispose]();
  }
}

/** Reports whether no attempt's command ran twice, and that of a completed task's last one ran. */
export function isOnce(
  acts: Acts | undefined,
  { run, name, completed }: { run: number; name: string | undefined; completed: boolean },
): boolean {
  const { begun, ended } = acts ?? { begun: [], ended: [] };
  if (begun.length > run || ended.length > run) return false;
  return !completed || (begun.at(-1) === name && ended.includes(name!));
}

/** Returns a process's command line; nothing for one that has ended. */
function commandLine(pid: string): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`);
  } catch {
    return "";
  }
}

function serve(place: Place): Promise<Hire> {
  return Hire.serve(place, { args: ["--allow-private"] });
}

let explained = 0;
function explain(found: Found, id: string, of: unknown, acts: unknown): void {
  const { stuck, failed, ends, effects, reruns, callbacks } = found;
  if (stuck + failed + ends + effects + reruns + callbacks === 0 || explained++ > 6) return;
  console.log(id, JSON.stringify({ stuck, failed, ends, effects, reruns, callbacks }));
  console.log(JSON.stringify(of), JSON.stringify(acts));
}
