/** The task engine, as verbs and doors use it; where tasks are kept and run is its own affair. */
import type { TaskLogEntry, TaskRecord, TaskRequest, TaskStatus } from "./task.ts";
import type { CallbackTarget } from "./callback_store.ts";
import type { ClientQuery, TaskClient } from "./client_store.ts";

/** For whom a task is done. */
export interface TaskOrigin {
  /** Whether someone else asks for it, over the network; the operator does by default. */
  hired?: boolean;
  /** Key id of the token that it is asked for with, where one is needed. */
  owner?: string;
  timeout_ms?: number;
  /** Who is told of its end. */
  callback?: CallbackTarget;
}

/** Among which tasks one is looked for: all by default. */
export interface TaskSight {
  /** Whether among those only that someone else asked for. */
  hired?: boolean;
  /** Whether among those of an owner; `undefined` is asked for those without one. */
  owned_by?(owner: string | undefined): boolean;
}

export interface EnqueueOptions extends TaskOrigin {
  /** How often a task is begun at most; 3 by default. */
  max_attempts?: number;
  /** How its client knows it. */
  client?: TaskClient;
  /** What one attempt may take. */
  timeout_ms?: number;
}

export interface RunOptions extends TaskOrigin {
  /** Its client has gone: the task fails with `cancelled by the client`. */
  signal?: AbortSignal;
  /**
   * After this the task fails, whether or not its executor obeys; 10 minutes by default.
   */
  timeout_ms?: number;
  /** Told what the executor notes while it works. */
  onNote?: (text: string) => void;
}

/** The queue at a glance: what is switched on, and how many tasks are in which state. */
export interface QueueStatus extends Record<TaskStatus, number> {
  paused: boolean;
  workers: number;
  /** Workers that are at work. */
  busy: number;
}

/** A page of tasks, newest first. */
export interface TaskPage {
  tasks: TaskRecord[];
  next_cursor?: string;
}

/** A page of the tasks of a client, those that changed last first. */
export interface ClientTaskPage extends TaskPage {
  /** How many there are on all pages together. */
  total: number;
}

/** An engine that keeps its tasks here answers at once, one that keeps them elsewhere does not. */
type Awaitable<T> = T | Promise<T>;

export interface TaskEngine {
  /** The task types there are executors for. */
  readonly task_types: string[];
  /**
   * Puts a task in the queue.
   *
   * @returns its record, once it is on the disk; the earlier task's when its client has asked for
   * the same before.
   * @throws {SvcError} validation when there is no such task type or its executor refuses the
   * request; shutting_down; internal when it cannot be stored.
   */
  enqueue(request: TaskRequest, options?: EnqueueOptions): Promise<TaskRecord>;
  /**
   * Runs a task at once, beside the workers, and waits for it.
   *
   * @returns its record: completed or failed.
   * @throws {SvcError} as {@linkcode TaskEngine.enqueue}.
   */
  run(request: TaskRequest, options?: RunOptions): Promise<TaskRecord>;
  /**
   * A task's record.
   *
   * @throws {SvcError} not_found, also for one out of sight.
   */
  get(id: string, sight?: TaskSight): Awaitable<TaskRecord>;
  /**
   * Tasks, newest first.
   *
   * @param options.cursor the `next_cursor` of the page before.
   * @throws {SvcError} validation when the cursor is none.
   */
  list(options: { state?: TaskStatus; limit: number; cursor?: string }): Awaitable<TaskPage>;
  status(): Awaitable<QueueStatus>;
  /** The newest `n` lines of the log, oldest of them first. */
  log(options: { n: number }): Awaitable<TaskLogEntry[]>;
  /**
   * The lines of one task's log after `since_seq`, as they come, until the task has ended.
   *
   * @throws {SvcError} not_found.
   */
  follow(
    id: string,
    options: { since_seq: number; signal: AbortSignal },
  ): AsyncIterable<TaskLogEntry>;
  /** The lines of one task's log so far. @throws {SvcError} not_found. */
  steps(id: string): Awaitable<TaskLogEntry[]>;
  /** How its client knows a task; undefined for one that came without a client's own names. */
  client(id: string): Awaitable<TaskClient | undefined>;
  /**
   * The tasks of one client, those that changed last first.
   *
   * @throws {SvcError} validation when the cursor is none.
   */
  listOf(query: ClientQuery): Awaitable<ClientTaskPage>;
  /**
   * Reports the end of a task to someone more, or otherwise to the one of that id; at once when it
   * has ended.
   *
   * @throws {SvcError} not_found; conflict when the task has 16 reports already.
   */
  setCallback(id: string, callback: CallbackTarget): Awaitable<void>;
  /** The reports of a task that are still to be sent. @throws {SvcError} not_found. */
  callbacks(id: string): Awaitable<CallbackTarget[]>;
  /** Takes a report back, if there is one of that id. @throws {SvcError} not_found. */
  removeCallback(id: string, callback_id: string): Awaitable<void>;
  /** Opens something that a task made; undefined when there is no such artifact. */
  openArtifact(id: string, name: string): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * Cancels a task for good, and waits, at most 5 s, until its executor has ended.
   *
   * @returns its record; the same again for a task that was cancelled before.
   * @throws {SvcError} not_found, or conflict when it has ended otherwise.
   */
  cancel(id: string): Promise<TaskRecord>;
  /** Takes no more tasks, also after a restart, until `resume`; running ones go on. */
  pause(): Awaitable<void>;
  /** Takes tasks again. */
  resume(): Awaitable<void>;
  /**
   * Sets how many tasks of the queue run at once, also after a restart. Running ones go on.
   *
   * @param count 0 to 64.
   * @throws {SvcError} validation when it is out of bounds.
   */
  setWorkers(count: number): Awaitable<void>;
  /**
   * Takes no more tasks, lets running ones finish, then cuts them off: those of the queue go back to
   * it without having used an attempt, those that a client waits for fail.
   *
   * @param grace_ms time to finish. Cut off, an executor has another 8 s to end.
   */
  close(grace_ms?: number): Promise<void>;
}
