/** Both task engines with executors that a test controls, for the tests that both must pass. */
import { assert } from "@std/assert";
import { deadline, delay } from "@std/async";
import type { Log } from "../../src/os/log.ts";
import { LocalArtifacts } from "../../src/features/tasks/artifacts.ts";
import type { CallbackTarget } from "../../src/features/tasks/callback_store.ts";
import type { Deliver } from "../../src/features/tasks/callbacks.ts";
import type { TaskEngine } from "../../src/features/tasks/engine.ts";
import { ExecutorRegistry } from "../../src/features/tasks/executors/registry.ts";
import { openTaskEngine, recoverTasks } from "../../src/features/tasks/local_engine.ts";
import { RestateTaskEngine } from "../../src/features/tasks/restate/engine.ts";
import { Ingress } from "../../src/features/tasks/restate/ingress.ts";
import type { RestateWorker } from "../../src/features/tasks/restate/worker.ts";
import type { Deliverable, TaskContext, TaskRequest } from "../../src/features/tasks/task.ts";
import { SvcError } from "../../src/protocol/errors.ts";
import { freePort } from "./free_port.ts";
import { RestateServer } from "./restate.ts";
import { MemoryLog, TempDir } from "./sessions.ts";
import { openTestDb } from "./state_db.ts";

/** A test that waits for what never comes fails. */
export const PATIENCE_MS = 120_000;

/** An attempt of the executor `manual`, which ends when the test says so. */
export interface HeldAttempt extends TaskContext {
  request: TaskRequest;
  finish(summary?: string): void;
  fail(error: Error): void;
}

/** An engine in a temporary directory, and what its executors are doing. */
export abstract class EngineBench implements AsyncDisposable {
  readonly log = new MemoryLog();
  readonly dir: TempDir;
  /** Of the executor `manual`, in the order of their starts. */
  readonly held: HeldAttempt[] = [];
  /** Whether `manual` stops when it is told to. */
  obedient = true;
  /** The callbacks that were sent: url, id and status of each. */
  readonly delivered: string[] = [];
  /** Why callbacks cannot be sent. */
  undelivered: Error | undefined;
  engine!: TaskEngine;
  /** How many queued tasks run at once, until `setWorkers` changes it. */
  readonly workers: number;
  readonly executors: ExecutorRegistry;
  readonly artifacts: LocalArtifacts;

  protected constructor(workers: number, dir = new TempDir()) {
    this.workers = workers;
    this.dir = dir;
    this.artifacts = new LocalArtifacts(dir.join("artifacts"));
    this.executors = new ExecutorRegistry([
      { task_type: "manual", run: (request, context) => this.#hold(request, context) },
      {
        task_type: "echo",
        run: ({ description = "", extra }) =>
          Promise.resolve({ summary: description, size: 1, usage: extra }),
      },
      {
        task_type: "files",
        async run({ description = "[]" }, { keep }) {
          for (const name of JSON.parse(description)) {
            await keep({ name, media_type: "text/plain", content: `content of ${name}` });
          }
          return { summary: "files", size: 5 };
        },
      },
      {
        task_type: "strict",
        check() {
          throw new SvcError("validation", "not like that");
        },
        run: () => Promise.reject(new Error("never")),
      },
    ]);
  }

  #hold(request: TaskRequest, context: TaskContext): Promise<Deliverable> {
    const { promise, resolve, reject } = Promise.withResolvers<Deliverable>();
    context.signal.addEventListener("abort", () => {
      if (this.obedient) reject(context.signal.reason);
    });
    const finish = (summary = "done") => resolve({ summary, size: summary.length });
    this.held.push({ ...context, request, finish, fail: reject });
    return promise;
  }

  protected readonly deliver: Deliver = ({ url, id }, { status }) => {
    this.delivered.push(`${url} ${id} ${status}`);
    return this.undelivered === undefined ? Promise.resolve() : Promise.reject(this.undelivered);
  };

  /** Queues a task for `manual`; its id. */
  async enqueue(description = "x", options = {}): Promise<string> {
    const { id } = await this.engine.enqueue({ task_type: "manual", description }, options);
    return id;
  }

  /** Queues a task for `manual` and waits for its executor. */
  async start(description = "x", options = {}): Promise<HeldAttempt> {
    const id = await this.enqueue(description, options);
    return await this.attempt(id);
  }

  /** Waits for an attempt at a task. */
  async attempt(task_id: string, attempt = 1): Promise<HeldAttempt> {
    const found = () => this.held.findLast((it) => it.task_id === task_id);
    await this.until(() => found()?.attempt === attempt, `attempt ${attempt} of ${task_id}`);
    return found()!;
  }

  /** Waits until a task has a status. */
  async reach(id: string, status: string): Promise<void> {
    await this.until(async () => (await this.engine.get(id)).status === status, `${id} ${status}`);
  }

  /** Waits until the numbers of the queue are these. */
  async counts(wanted: Partial<Awaited<ReturnType<TaskEngine["status"]>>>): Promise<void> {
    let status: Record<string, unknown> = {};
    const fits = async () => {
      status = { ...await this.engine.status() };
      return Object.entries(wanted).every(([name, value]) => status[name] === value);
    };
    await this.until(fits, () => `${JSON.stringify(wanted)}, got ${JSON.stringify(status)}`);
  }

  async until(
    holds: () => boolean | Promise<boolean>,
    what: string | (() => string),
  ): Promise<void> {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await delay(10)) {
      if (await holds()) return;
    }
    throw new Error(`waited in vain for ${typeof what === "string" ? what : what()}`);
  }

  async events(id: string): Promise<string[]> {
    return (await this.engine.steps(id)).map(({ event }) => event);
  }

  /** The descriptions of the tasks that `manual` has started. */
  taken(): string {
    return this.held.map(({ request }) => request.description).join("");
  }

  /** Opens the engine. */
  abstract open(): Promise<void>;
  /** Closes the engine, with everything that runs tasks. */
  abstract close(grace_ms?: number): Promise<void>;
  /** Writes what this version cannot read over a stored task. */
  abstract garble(id: string): Promise<void>;
  protected abstract end(): Promise<void>;

  async [Symbol.asyncDispose](): Promise<void> {
    this.obedient = true;
    for (const { fail } of this.held) fail(new Error("the test is over"));
    await deadline(this.end(), PATIENCE_MS);
    this.dir[Symbol.dispose]();
  }
}

export class LocalBench extends EngineBench {
  readonly #path = this.dir.join("state.db");

  static async open(workers: number): Promise<LocalBench> {
    const bench = new LocalBench(workers);
    await bench.open();
    return bench;
  }

  async open(): Promise<void> {
    const { executors, log, workers, artifacts, deliver } = this;
    const db = await openTestDb(this.#path);
    recoverTasks(db, { log });
    this.engine = openTaskEngine(db, {
      executors,
      log,
      workers,
      artifacts,
      deliver,
      random: () => 0,
    });
  }

  async close(grace_ms?: number): Promise<void> {
    await this.engine.close(grace_ms);
  }

  async garble(id: string): Promise<void> {
    const db = await openTestDb(this.#path);
    db.prepare("UPDATE tasks SET extras = 'garbage', request = 'garbage' WHERE id = ?").run(id);
    db.close();
  }

  protected async end(): Promise<void> {
    await this.engine.close();
  }
}

export class RestateBench extends EngineBench {
  readonly #server: RestateServer;
  #worker: RestateWorker | undefined;
  /** Of the worker, the same each time. */
  readonly #port = freePort();

  private constructor(workers: number, dir: TempDir, server: RestateServer) {
    super(workers, dir);
    this.#server = server;
  }

  /** A way to the objects behind the engine. */
  get ingress(): Ingress {
    return new Ingress({ url: this.#server.url });
  }

  static async open(workers: number): Promise<RestateBench> {
    const dir = new TempDir();
    const bench = new RestateBench(workers, dir, await RestateServer.start(dir.mkdir("restate")));
    await bench.open();
    return bench;
  }

  async open(): Promise<void> {
    const { executors, artifacts, deliver, workers } = this;
    const log: Log = this.log;
    const { ingress } = this;
    const is_new = this.#worker === undefined;
    // Reads the environment, which not every test run may.
    const { openRestateWorker } = await import("../../src/features/tasks/restate/worker.ts");
    this.#worker = await openRestateWorker({
      ingress,
      executors,
      artifacts,
      log,
      machine: "bench",
      hostname: "127.0.0.1",
      port: this.#port,
      slots: workers,
      task_types: executors.names,
      identity_keys: [],
      deliver,
      random: () => 0,
    });
    if (is_new) await this.#admin("deployments", { uri: `http://127.0.0.1:${this.#port}` });
    this.engine = new RestateTaskEngine({ ingress, executors, artifacts, log });
    // It announces its slots once it is registered.
    if (workers > 0) {
      await this.until(async () => (await this.engine.status()).workers > 0, "slots");
    }
  }

  async close(grace_ms?: number): Promise<void> {
    await this.#worker!.close(grace_ms);
    await this.engine.close();
  }

  async garble(id: string): Promise<void> {
    const bytes = [...new TextEncoder().encode(JSON.stringify({ garbage: true }))];
    const new_state = { task: bytes };
    await this.#admin("services/svc-task/state", { object_key: id, new_state });
  }

  async #admin(path: string, input: unknown): Promise<void> {
    const response = await fetch(`${this.#server.admin_url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(input),
    });
    const text = await response.text();
    assert(response.ok, `${path}: ${response.status} ${text}`);
  }

  protected async end(): Promise<void> {
    await this.close();
    await this.#server[Symbol.asyncDispose]();
  }
}

/** A callback with an id. */
export function callbackTo(url: string, id = ""): CallbackTarget {
  return { id, url, key_id: "k" };
}
