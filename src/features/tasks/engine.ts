/**
 * The task engine as verbs and doors use it; an implementation decides where tasks are stored and
 * run.
 */
import type { TaskLogEntry, TaskQuery, TaskRecord, TaskRequest, TaskStatus } from "./task.ts";
import type { CallbackTarget } from "./callback_store.ts";
import type { ClientQuery, TaskClient } from "./client_store.ts";
import type { Quota } from "./quota.ts";

/** The origin of a task. */
export interface TaskOrigin {
  /** Whether a client hired it over the network; default: the operator requested it. */
  hired?: boolean;
  /** The key id of the token that requested it, if a token was needed. */
  owner?: string;
  /** The identity of the task for its client. */
  client?: TaskClient;
  /** The id of the task, which no other has; default: a new one. */
  id?: string;
  timeout_ms?: number;
  /** What its owner may use; default: without limits. */
  quota?: Quota;
  /** The callback for its end. */
  callback?: CallbackTarget;
}

/** The tasks that a caller can see; default: all. */
export interface TaskSight {
  /** Whether only hired tasks are visible. */
  hired?: boolean;
  /** Whether tasks of an owner are visible; called with `undefined` for tasks without an owner. */
  owned_by?(owner: string | undefined): boolean;
}

export interface EnqueueOptions extends TaskOrigin {
  /** The most attempts; default: 3. */
  max_attempts?: number;
  /** The time limit of one attempt. */
  timeout_ms?: number;
}

export interface RunOptions extends TaskOrigin {
  /** Fires when its client has disconnected: the task fails with `cancelled by the client`. */
  signal?: AbortSignal;
  /**
   * The time limit after which the task fails, whether or not its executor stops; default: 10
   * minutes.
   */
  timeout_ms?: number;
  /** Called with each note of the executor. */
  onNote?: (text: string) => void;
}

/** The status of the queue: its settings, and the number of tasks in each state. */
export interface QueueStatus extends Record<TaskStatus, number> {
  paused: boolean;
  workers: number;
  /** The number of busy workers. */
  busy: number;
}

/** A page of tasks, newest first. */
export interface TaskPage {
  tasks: TaskRecord[];
  next_cursor?: string;
}

/** A page of a client's tasks, most recently changed first. */
export interface ClientTaskPage extends TaskPage {
  /** The number of tasks on all pages together. */
  total: number;
}

/** An engine with local storage answers immediately, one with remote storage does not. */
type Awaitable<T> = T | Promise<T>;

export interface TaskEngine {
  /** The available task types. */
  readonly task_types: string[];
  /**
   * Adds a task to the queue.
   *
   * @returns its record, once it is on disk; the earlier task's if its client has made the same
   * request before
   * @throws {SvcError} validation when the task type is unknown or its executor refuses the
   * request; budget_exceeded when it exceeds the quota; shutting_down; internal when it cannot be
   * stored
   */
  enqueue(request: TaskRequest, options?: EnqueueOptions): Promise<TaskRecord>;
  /**
   * Runs a task immediately, independent of the workers, and waits for it.
   *
   * @returns its record: completed or failed; the earlier task's, perhaps before its end, if its
   * client has made the same request before
   * @throws {SvcError} like {@linkcode TaskEngine.enqueue}
   */
  run(request: TaskRequest, options?: RunOptions): Promise<TaskRecord>;
  /**
   * Returns a task's record.
   *
   * @throws {SvcError} not_found, also for a task that the caller cannot see
   */
  get(id: string, sight?: TaskSight): Awaitable<TaskRecord>;
  /**
   * Lists tasks, newest first.
   *
   * @param options.cursor the `next_cursor` of the previous page
   * @throws {SvcError} validation for an invalid cursor
   */
  list(options: TaskQuery): Awaitable<TaskPage>;
  status(): Awaitable<QueueStatus>;
  /** Returns the newest `n` lines of the log, oldest first. */
  log(options: { n: number }): Awaitable<TaskLogEntry[]>;
  /**
   * Yields the lines of a task's log after `since_seq` as they are written, until the task has
   * ended.
   *
   * @throws {SvcError} not_found
   */
  follow(
    id: string,
    options: { since_seq: number; signal: AbortSignal },
  ): AsyncIterable<TaskLogEntry>;
  /** Returns the lines of a task's log so far. @throws {SvcError} not_found. */
  steps(id: string): Awaitable<TaskLogEntry[]>;
  /** Returns the id of the task that a client's request has created. */
  taskOf(request: Pick<TaskClient, "key_id" | "request_id">): Awaitable<string | undefined>;
  /** Returns the identity of a task for its client; undefined for a task without one. */
  client(id: string): Awaitable<TaskClient | undefined>;
  /**
   * Lists the tasks of one client, most recently changed first.
   *
   * @throws {SvcError} validation for an invalid cursor
   */
  listOf(query: ClientQuery): Awaitable<ClientTaskPage>;
  /**
   * Adds a callback for the end of a task, or replaces the one with the same id; sent immediately
   * if the task has ended.
   *
   * @throws {SvcError} not_found; conflict when the task already has 16 callbacks
   */
  setCallback(id: string, callback: CallbackTarget): Awaitable<void>;
  /** Returns the callbacks of a task that are still to be sent. @throws {SvcError} not_found. */
  callbacks(id: string): Awaitable<CallbackTarget[]>;
  /** Removes the callback with that id, if there is one. @throws {SvcError} not_found. */
  removeCallback(id: string, callback_id: string): Awaitable<void>;
  /** Opens an artifact of a task; undefined when it does not exist. */
  openArtifact(id: string, name: string): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * Cancels a task permanently, and waits up to 5 s for its executor to end.
   *
   * @returns its record; for a task that was cancelled before, the same record again
   * @throws {SvcError} not_found; conflict when it has ended otherwise
   */
  cancel(id: string): Promise<TaskRecord>;
  /** Stops taking tasks until `resume`, even after a restart; running ones continue. */
  pause(): Awaitable<void>;
  /** Starts taking tasks again. */
  resume(): Awaitable<void>;
  /**
   * Sets how many queued tasks run at once, also after a restart. Running ones continue.
   *
   * @param count 0 to 64
   * @throws {SvcError} validation when it is out of range
   */
  setWorkers(count: number): Awaitable<void>;
  /**
   * Stops taking tasks, lets running ones finish, then aborts them: queued ones go back to the
   * queue without using an attempt, those that a client waits for fail.
   *
   * @param grace_ms time to finish. An aborted executor has another 8 s to end.
   */
  close(grace_ms?: number): Promise<void>;
}
