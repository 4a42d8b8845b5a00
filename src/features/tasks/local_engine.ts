/** The local task engine: a durable queue with workers, and tasks that a client waits for. */
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import type { DatabaseSync } from "node:sqlite";
import { type Attempt, Attempts, BACKOFF_MAX_MS, WRITE_AGAIN_MS } from "./attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import type { CallbackTarget } from "./callback_store.ts";
import type { ClientQuery, TaskClient } from "./client_store.ts";
import { newTaskId, noSuchTask, requireWorkers } from "./common.ts";
import type {
  ClientTaskPage,
  EnqueueOptions,
  QueueStatus,
  RunOptions,
  TaskEngine,
  TaskPage,
  TaskSight,
} from "./engine.ts";
import type { ExecutorRegistry } from "./executors/registry.ts";
import type { LocalArtifacts } from "./artifacts.ts";
import { Callbacks, type Deliver } from "./callbacks.ts";
import { Followers } from "./followers.ts";
import { GroupCommit } from "./group_commit.ts";
import type { NewTask } from "./lifecycle.ts";
import { Pruning } from "./pruning.ts";
import type { Quota } from "./quota.ts";
import { type LeftTask, TaskStore } from "./store.ts";
import {
  KEEP_TASKS,
  MAX_ATTEMPTS,
  type TaskLogEntry,
  type TaskQuery,
  type TaskRecord,
  type TaskRequest,
  TIMEOUT_MS,
} from "./task.ts";

export interface TaskEngineParts {
  executors: ExecutorRegistry;
  log: Log;
  /** The number of queued tasks that run at once, until `setWorkers` changes it. */
  workers: number;
  artifacts: LocalArtifacts;
  deliver: Deliver;
  clock?: Clock;
  /** Returns a number from 0 up to 1, for jitter. */
  random?: () => number;
  /** Default: 10,000. */
  keep_tasks?: number;
}

/** A new attempt, or the task that the same request has created before. */
type Begun = { attempt: Attempt; earlier?: undefined } | {
  earlier: TaskRecord;
  attempt?: undefined;
};

/**
 * Settles the tasks that an earlier daemon left running: they are queued again or fail, as the
 * daemon's lock excludes other processes.
 *
 * @returns the tasks that go on where they were
 */
export function recoverTasks(
  db: DatabaseSync,
  { log, clock = SYSTEM_CLOCK }: Pick<TaskEngineParts, "log" | "clock">,
): LeftTask[] {
  const store = new TaskStore(db);
  const lost = store.recover(clock.now());
  if (lost > 0) log.warn("tasks were running when the daemon stopped", { tasks: lost });
  return store.left();
}

/**
 * Opens the engine on the state database, and closes that with itself. No task of it may be running;
 * see {@linkcode recoverTasks}.
 */
export function openTaskEngine(
  db: DatabaseSync,
  parts: TaskEngineParts,
): LocalTaskEngine {
  return new LocalTaskEngine(new TaskStore(db), parts);
}

export class LocalTaskEngine implements TaskEngine {
  readonly #store: TaskStore;
  readonly #executors: ExecutorRegistry;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #commits: GroupCommit;
  readonly #attempts: Attempts;
  readonly #artifacts: LocalArtifacts;
  readonly #callbacks: Callbacks;
  readonly #followers = new Followers();
  readonly #pruning: Pruning;
  #workers: number;
  #paused: boolean;
  #cancelWake: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(store: TaskStore, parts: TaskEngineParts) {
    const { executors, log, workers, artifacts, deliver } = parts;
    const { clock = SYSTEM_CLOCK, random = Math.random, keep_tasks = KEEP_TASKS } = parts;
    this.#store = store;
    this.#executors = executors;
    this.#log = log;
    this.#clock = clock;
    this.#commits = new GroupCommit({
      transaction: (work) => store.transaction(work),
      onCommitted: () => this.#callbacks.pump(),
    });
    this.#attempts = new Attempts({
      records: {
        settle: (settlement, now) =>
          this.#commits.add(() => store.settle([settlement], now), ([record]) => record),
        log: (...line) => store.log(...line),
        keepWork: (...work) => this.#commits.add(() => store.keepWork(...work), () => {}),
      },
      executors,
      log,
      clock,
      random,
      artifacts,
      onWorkerFree: () => this.#pump(),
      onNoted: (task_id) => this.#followers.tell(task_id),
      onSettled: (task_id) => this.#onSettled(task_id),
    });
    this.#artifacts = artifacts;
    this.#pruning = new Pruning({
      store,
      artifacts,
      log,
      clock,
      keep: keep_tasks,
      idle: () => this.#attempts.idle && this.#commits.idle,
    });
    this.#callbacks = new Callbacks({
      reports: store.callbacks,
      take: ({ task_id }) => store.get(task_id),
      log,
      clock,
      deliver,
    });
    this.#workers = Number(store.setting("workers") ?? workers);
    this.#paused = store.setting("paused") === "true";
    this.#pruning.prune();
    this.#pump();
    this.#callbacks.pump();
  }

  get task_types(): string[] {
    return this.#executors.names;
  }

  // ── taking tasks ─────────────────────────────────────────────────────────────────────────────

  async enqueue(request: TaskRequest, options: EnqueueOptions = {}): Promise<TaskRecord> {
    const { max_attempts = MAX_ATTEMPTS, hired = false, quota, ...rest } = options;
    const { id = newTaskId(), ...origin } = rest;
    await this.#check(request, hired);
    const task = { ...origin, id, request, hired, max_attempts };
    return await this.#write({ ...task, mode: "queue" }, quota, (id) => {
      const record = this.get(id);
      this.#pump();
      return record;
    });
  }

  async run(request: TaskRequest, options: RunOptions = {}): Promise<TaskRecord> {
    const { signal, timeout_ms = TIMEOUT_MS, hired = false, owner, onNote } = options;
    const { id = newTaskId(), callback, client, quota } = options;
    await this.#check(request, hired);
    const task = { id, request, hired, owner, max_attempts: 1, timeout_ms };
    const cancel = (attempt: Attempt) =>
      void this.#attempts.end(attempt, {
        kind: "failed",
        error: "cancelled by the client",
        cancelled: true,
      });
    const named = { ...task, mode: "sync", callback, client } as const;
    const { earlier, attempt } = await this.#write<Begun>(named, quota, (written) => {
      if (written !== id) return { earlier: this.get(written) };
      const begun = this.#attempts.begin({ ...task, attempt: 1 }, false, onNote);
      if (signal?.aborted) cancel(begun);
      return { attempt: begun };
    });
    if (earlier !== undefined) return earlier;
    const onAbort = () => cancel(attempt);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      return await attempt.settled.promise ?? this.get(id);
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async #check(request: TaskRequest, hired: boolean): Promise<void> {
    this.#requireOpen();
    await this.#executors.get(request.task_type).check?.(request, hired);
  }

  /** Writes a task, and calls `then` with its id in the same turn of the event loop. */
  async #write<T>(
    task: NewTask,
    quota: Quota | undefined,
    then: (id: string) => T,
  ): Promise<T> {
    this.#requireOpen();
    try {
      return await this.#commits.add(
        () => this.#store.admit([{ task, quota }], this.#clock.now()),
        ([result]) => {
          if (result instanceof SvcError) throw result;
          return then(result);
        },
      );
    } catch (error) {
      throw error instanceof SvcError ? error : unwritable(error);
    }
  }

  // ── looking ──────────────────────────────────────────────────────────────────────────────────

  get(id: string, sight: TaskSight = {}): TaskRecord {
    const record = this.#open().get(id, sight);
    if (record !== undefined) return record;
    throw noSuchTask(id, sight.hired ?? false);
  }

  list({ state, limit, cursor }: TaskQuery): TaskPage {
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      throw new SvcError(
        "validation",
        `cursor must be the next_cursor of an earlier page, got "${cursor}"`,
      );
    }
    const before = cursor === undefined ? undefined : Number(cursor);
    const { tasks, next, unread } = this.#open().list({ state, limit, before });
    for (const { message } of unread) this.#log.warn(message);
    return { tasks, next_cursor: next?.toString() };
  }

  status(): QueueStatus {
    const counts = this.#open().counts();
    return { paused: this.#paused, workers: this.#workers, busy: this.#attempts.busy, ...counts };
  }

  log({ n }: { n: number }): TaskLogEntry[] {
    return this.#open().tail(n);
  }

  async *follow(
    id: string,
    { since_seq, signal }: { since_seq: number; signal: AbortSignal },
  ): AsyncGenerator<TaskLogEntry> {
    this.get(id);
    yield* this.#followers.follow(id, {
      since_seq,
      signal,
      entriesAfter: (seq) => this.#open().logOf(id, seq),
      status: () => this.get(id).status,
    });
  }

  steps(id: string): TaskLogEntry[] {
    this.get(id);
    return this.#open().logOf(id, 0);
  }

  taskOf(request: Pick<TaskClient, "key_id" | "request_id">): string | undefined {
    return this.#open().clients.taskOf(request);
  }

  client(id: string): TaskClient | undefined {
    return this.#open().clients.get(id);
  }

  listOf(query: ClientQuery): ClientTaskPage {
    const { ids, ...page } = this.#open().clients.list(query);
    const tasks = ids.map((id) => this.#find(id)).filter((it) => it !== undefined);
    return { ...page, tasks };
  }

  /** Returns a task; undefined if it cannot be read. */
  #find(id: string): TaskRecord | undefined {
    try {
      return this.get(id);
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== "internal") throw error;
      this.#log.warn(error.message);
      return undefined;
    }
  }

  #onSettled(id: string): void {
    this.#followers.tell(id);
    this.#pruning.ended();
  }

  openArtifact(id: string, name: string): Promise<ReadableStream<Uint8Array> | undefined> {
    const known = this.get(id).artifacts?.find((artifact) => artifact.name === name);
    return known ? this.#artifacts.open(id, known) : Promise.resolve(undefined);
  }

  // ── steering ─────────────────────────────────────────────────────────────────────────────────

  async cancel(id: string): Promise<TaskRecord> {
    const [left] = this.#open().left(id);
    if (!this.#open().cancel(id, this.#clock.now())) {
      const record = this.get(id);
      if (record.cancelled) return record;
      throw new SvcError("conflict", `task ${id} is already ${record.status}`);
    }
    this.#onSettled(id);
    this.#callbacks.pump();
    const record = this.get(id);
    await this.#attempts.cancel(id);
    if (left !== undefined) await this.#executors.get(left.task_type).drop?.(id, left.work, false);
    return record;
  }

  setCallback(id: string, callback: CallbackTarget): void {
    this.get(id);
    this.#open().callbacks.set(id, callback);
    this.#callbacks.pump();
  }

  callbacks(id: string): CallbackTarget[] {
    this.get(id);
    return this.#open().callbacks.of(id);
  }

  removeCallback(id: string, callback_id: string): void {
    this.get(id);
    this.#open().callbacks.remove(id, callback_id);
  }

  pause(): void {
    this.#setPaused(true);
  }

  resume(): void {
    this.#setPaused(false);
    this.#pump();
  }

  #setPaused(paused: boolean): void {
    const store = this.#open();
    if (paused === this.#paused) return;
    store.set("paused", String(paused), paused ? "paused" : "resumed", this.#clock.now());
    this.#paused = paused;
  }

  setWorkers(count: number): void {
    const store = this.#open();
    requireWorkers(count);
    if (count === this.#workers) return;
    store.set("workers", String(count), "workers", this.#clock.now());
    this.#workers = count;
    this.#pump();
  }

  // ── working ──────────────────────────────────────────────────────────────────────────────────

  /** Starts due tasks, and schedules the next call. */
  #pump(): void {
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    if (this.#closing !== undefined || this.#paused) return;
    try {
      while (this.#attempts.busy < this.#workers) {
        const now = this.#clock.now();
        const task = this.#store.claim(now, BACKOFF_MAX_MS);
        if (task === undefined) {
          const due = this.#store.nextDue();
          if (due !== undefined) this.#wakeAfter(due - now);
          return;
        }
        this.#attempts.begin(task, true);
        this.#followers.tell(task.id);
      }
    } catch (error) {
      this.#log.error("cannot take tasks from the queue", { error: messageOf(error) });
      this.#wakeAfter(WRITE_AGAIN_MS);
    }
  }

  #wakeAfter(ms: number): void {
    this.#cancelWake = this.#clock.after(Math.max(ms, 1), () => this.#pump());
  }

  // ── stopping ─────────────────────────────────────────────────────────────────────────────────

  close(grace_ms = 0): Promise<void> {
    return this.#closing ??= this.#close(grace_ms);
  }

  async #close(grace_ms: number): Promise<void> {
    this.#cancelWake?.();
    this.#commits.flush();
    await this.#attempts.close(grace_ms);
    await this.#callbacks.close();
    await this.#pruning.close();
    this.#closed = true;
    this.#followers.tellAll();
    this.#store.close();
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) {
      throw new SvcError("shutting_down", "the daemon is stopping and accepts no tasks");
    }
  }

  /** Returns the store. @throws {SvcError} shutting_down when it is closed. */
  #open(): TaskStore {
    if (!this.#closed) return this.#store;
    throw new SvcError("shutting_down", "the daemon is stopping");
  }
}

function unwritable(cause: unknown): SvcError {
  return new SvcError("internal", `cannot store the task: ${messageOf(cause)}`, {
    hint: "free disk space or repair ~/.svc/state.db",
    cause,
  });
}
