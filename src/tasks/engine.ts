/** The local task engine: a durable queue with workers, and tasks that a client waits for. */
import { setImmediate } from "node:timers";
import { monotonicUlid } from "@std/ulid";
import { messageOf, SvcError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { openStateDb } from "../platform/state_db.ts";
import { Attempts, BACKOFF_MAX_MS, WRITE_AGAIN_MS } from "./attempts.ts";
import { type Clock, SYSTEM_CLOCK } from "./clock.ts";
import type { ExecutorRegistry } from "./executors/registry.ts";
import { type NewTask, TaskStore } from "./store.ts";
import {
  type TaskLogEntry,
  type TaskRecord,
  type TaskRequest,
  type TaskStatus,
  TIMEOUT_MS,
  WORKERS_MAX,
} from "./task.ts";

export interface TaskEngineParts {
  executors: ExecutorRegistry;
  log: Log;
  /** Tasks of the queue that run at once, until `setWorkers` says otherwise. */
  workers: number;
  clock?: Clock;
  /** From 0 up to 1, for jitter. */
  random?: () => number;
}

export interface EnqueueOptions {
  /** How often a task is begun at most; 3 by default. */
  max_attempts?: number;
  /** What one attempt may take. */
  timeout_ms?: number;
}

/** The queue at a glance: what is switched on, and how many tasks are in which state. */
export interface QueueStatus extends Record<TaskStatus, number> {
  paused: boolean;
  workers: number;
  /** Workers that are at work. */
  busy: number;
}

interface Incoming {
  task: NewTask;
  done: PromiseWithResolvers<TaskRecord>;
}

const MAX_ATTEMPTS = 3;

/**
 * Opens the engine on its database; what a daemon that is gone left running is queued again or fails.
 * One process at a time may have a database open like this: the daemon's lock sees to that.
 *
 * @param path of the database; made when there is none.
 * @throws {SvcError} as {@linkcode openStateDb}.
 */
export async function openTaskEngine(path: string, parts: TaskEngineParts): Promise<TaskEngine> {
  return new TaskEngine(new TaskStore(await openStateDb(path)), parts);
}

export class TaskEngine {
  readonly #store: TaskStore;
  readonly #executors: ExecutorRegistry;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #attempts: Attempts;
  #workers: number;
  #paused: boolean;
  #incoming: Incoming[] = [];
  #cancelWake: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #closed = false;

  /** @param store is closed with the engine. */
  constructor(store: TaskStore, parts: TaskEngineParts) {
    const { executors, log, workers, clock = SYSTEM_CLOCK, random = Math.random } = parts;
    this.#store = store;
    this.#executors = executors;
    this.#log = log;
    this.#clock = clock;
    this.#attempts = new Attempts({
      store,
      executors,
      log,
      clock,
      random,
      onWorkerFree: () => this.#pump(),
    });
    this.#workers = Number(store.setting("workers") ?? workers);
    this.#paused = store.setting("paused") === "true";
    const lost = store.recover(clock.now());
    if (lost > 0) log.warn("tasks were running when the daemon stopped", { tasks: lost });
    this.#pump();
  }

  /** The task types there are executors for. */
  get task_types(): string[] {
    return this.#executors.names;
  }

  // ── taking tasks ─────────────────────────────────────────────────────────────────────────────

  /**
   * Puts a task in the queue. What comes in one turn of the event loop is written together.
   *
   * @returns its record, once it is on the disk.
   * @throws {SvcError} validation when there is no such task type or its executor refuses the
   * request; shutting_down; internal when it cannot be stored.
   */
  async enqueue(request: TaskRequest, options: EnqueueOptions = {}): Promise<TaskRecord> {
    this.#requireOpen();
    this.#executors.get(request.task_type).check?.(request);
    const { max_attempts = MAX_ATTEMPTS, timeout_ms } = options;
    const task: NewTask = { id: newId(), mode: "queue", request, max_attempts, timeout_ms };
    const done = Promise.withResolvers<TaskRecord>();
    if (this.#incoming.push({ task, done }) === 1) setImmediate(() => this.#takeIncoming());
    return await done.promise;
  }

  #takeIncoming(): void {
    const incoming = this.#incoming;
    if (incoming.length === 0) return;
    this.#incoming = [];
    try {
      const records = this.#store.insert(incoming.map(({ task }) => task), this.#clock.now());
      incoming.forEach(({ done }, n) => done.resolve(records[n]));
    } catch (cause) {
      for (const { done } of incoming) done.reject(unwritable(cause));
    }
    this.#pump();
  }

  /**
   * Runs a task at once, beside the workers, and waits for it.
   *
   * @param options.signal its client has gone: the task fails with `cancelled by the client`.
   * @param options.timeout_ms after this the task fails, whether or not its executor obeys; 10
   * minutes by default.
   * @returns its record: completed or failed.
   * @throws {SvcError} as {@linkcode TaskEngine.enqueue}.
   */
  async run(
    request: TaskRequest,
    options: { signal?: AbortSignal; timeout_ms?: number } = {},
  ): Promise<TaskRecord> {
    this.#requireOpen();
    this.#executors.get(request.task_type).check?.(request);
    const { signal, timeout_ms = TIMEOUT_MS } = options;
    const task = { id: newId(), request, max_attempts: 1, timeout_ms };
    try {
      this.#store.insert([{ ...task, mode: "sync" }], this.#clock.now());
    } catch (cause) {
      throw unwritable(cause);
    }
    const attempt = this.#attempts.begin({ ...task, attempt: 1 }, false);
    const onAbort = () =>
      this.#attempts.end(attempt, {
        kind: "failed",
        error: "cancelled by the client",
        cancelled: true,
      });
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      await attempt.settled.promise;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
    return this.get(task.id);
  }

  // ── looking ──────────────────────────────────────────────────────────────────────────────────

  /** A task's record. @throws {SvcError} not_found. */
  get(id: string): TaskRecord {
    const record = this.#open().get(id);
    if (record !== undefined) return record;
    throw new SvcError("not_found", `there is no task ${JSON.stringify(id)}`, {
      hint: "`svc ctl tasks` lists the tasks",
    });
  }

  /**
   * Tasks, newest first.
   *
   * @param options.cursor the `next_cursor` of the page before.
   * @throws {SvcError} validation when the cursor is none.
   */
  list(
    { state, limit, cursor }: { state?: TaskStatus; limit: number; cursor?: string },
  ): { tasks: TaskRecord[]; next_cursor?: string } {
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      throw new SvcError("validation", `cursor must be a next_cursor, got "${cursor}"`);
    }
    const before = cursor === undefined ? undefined : Number(cursor);
    const { tasks, next } = this.#open().list({ state, limit, before });
    return { tasks, next_cursor: next?.toString() };
  }

  status(): QueueStatus {
    const counts = this.#open().counts();
    return { paused: this.#paused, workers: this.#workers, busy: this.#attempts.busy, ...counts };
  }

  /** The newest `n` lines of the log, oldest of them first. */
  log({ n }: { n: number }): TaskLogEntry[] {
    return this.#open().tail(n);
  }

  // ── steering ─────────────────────────────────────────────────────────────────────────────────

  /**
   * Cancels a task for good, and waits, at most 5 s, until its executor has ended.
   *
   * @returns its record; the same again for a task that was cancelled before.
   * @throws {SvcError} not_found, or conflict when it has ended otherwise.
   */
  async cancel(id: string): Promise<TaskRecord> {
    if (!this.#open().cancel(id, this.#clock.now())) {
      const record = this.get(id);
      if (record.cancelled) return record;
      throw new SvcError("conflict", `task ${id} is ${record.status} already`);
    }
    const record = this.get(id);
    await this.#attempts.cancel(id);
    return record;
  }

  /** Takes no more tasks, also after a restart, until `resume`; running ones go on. */
  pause(): void {
    this.#setPaused(true);
  }

  /** Takes tasks again. */
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

  /**
   * Sets how many tasks of the queue run at once, also after a restart. Running ones go on.
   *
   * @param count 0 to 64.
   * @throws {SvcError} validation when it is out of bounds.
   */
  setWorkers(count: number): void {
    const store = this.#open();
    if (!Number.isInteger(count) || count < 0 || count > WORKERS_MAX) {
      throw new SvcError("validation", `workers must be 0 to ${WORKERS_MAX}, got ${count}`);
    }
    if (count === this.#workers) return;
    store.set("workers", String(count), "workers", this.#clock.now());
    this.#workers = count;
    this.#pump();
  }

  // ── working ──────────────────────────────────────────────────────────────────────────────────

  /** Gives the free workers what is due, and sees to it that it is called when more is. */
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
      }
    } catch (error) {
      this.#log.error("no task can be taken from the queue", { error: messageOf(error) });
      this.#wakeAfter(WRITE_AGAIN_MS);
    }
  }

  #wakeAfter(ms: number): void {
    this.#cancelWake = this.#clock.after(Math.max(ms, 1), () => this.#pump());
  }

  // ── stopping ─────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes no more tasks, lets running ones finish, then cuts them off: those of the queue go back to
   * it without having used an attempt, those that a client waits for fail. Closes the database.
   *
   * @param grace_ms time to finish. Cut off, an executor has another 5 s to end.
   */
  close(grace_ms = 0): Promise<void> {
    return this.#closing ??= this.#close(grace_ms);
  }

  async #close(grace_ms: number): Promise<void> {
    this.#cancelWake?.();
    this.#takeIncoming();
    await this.#attempts.close(grace_ms);
    this.#closed = true;
    this.#store.close();
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) {
      throw new SvcError("shutting_down", "the daemon is stopping; no task is taken");
    }
  }

  /** The store. @throws {SvcError} shutting_down when it is closed. */
  #open(): TaskStore {
    if (!this.#closed) return this.#store;
    throw new SvcError("shutting_down", "the daemon is stopping");
  }
}

function newId(): string {
  return `t-${monotonicUlid()}`;
}

function unwritable(cause: unknown): SvcError {
  return new SvcError("internal", `the task cannot be stored: ${messageOf(cause)}`, {
    hint: "free disk space or mend ~/.svc/state.db",
    cause,
  });
}
