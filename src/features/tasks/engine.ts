/** The task engine as verbs and doors use it, wherever tasks are stored. */
import type { TaskLogEntry, TaskQuery, TaskRecord, TaskRequest, TaskStatus } from "./task.ts";
import type { CallbackTarget } from "./callback_store.ts";
import type { ClientQuery, TaskClient } from "./client_store.ts";
import type { Quota } from "./quota.ts";

export interface TaskOrigin {
  /** Whether a client hired it over the network; default: the operator requested it. */
  hired?: boolean;
  /** The key id of the requesting token. */
  owner?: string;
  /** The identity of the task for its client. */
  client?: TaskClient;
  /** The id of the task, which no other has; default: a new one. */
  id?: string;
  timeout_ms?: number;
  /** What its owner may use; default: without limits. */
  quota?: Quota;
  callback?: CallbackTarget;
}

export interface TaskSight {
  hired?: boolean;
  /** Called with `undefined` for tasks without an owner. */
  owned_by?(owner: string | undefined): boolean;
}

export interface EnqueueOptions extends TaskOrigin {
  /** Default: 3. */
  max_attempts?: number;
  /** Per attempt. */
  timeout_ms?: number;
}

export interface RunOptions extends TaskOrigin {
  /** Its client has disconnected: the task fails with `cancelled by the client`. */
  signal?: AbortSignal;
  /** Default: 10 minutes. The task then fails, even if its executor does not stop. */
  timeout_ms?: number;
  onNote?: (text: string) => void;
}

export interface QueueStatus extends Record<TaskStatus, number> {
  paused: boolean;
  workers: number;
  busy: number;
}

/** Newest first. */
export interface TaskPage {
  tasks: TaskRecord[];
  next_cursor?: string;
}

/** Most recently changed first. */
export interface ClientTaskPage extends TaskPage {
  /** On all pages together. */
  total: number;
}

/** An engine with local storage answers immediately, one with remote storage does not. */
type Awaitable<T> = T | Promise<T>;

export interface TaskEngine {
  readonly task_types: string[];
  /**
   * Queues a task. @returns its record, once on disk; for a repeated client request, the earlier
   * task's
   * @throws {SvcError} validation for an unknown type or a refused request; budget_exceeded for one
   * that exceeds the quota; shutting_down; internal
   */
  enqueue(request: TaskRequest, options?: EnqueueOptions): Promise<TaskRecord>;
  /**
   * Runs a task immediately, independent of the workers, and waits for its end. For a repeated client
   * request it returns the earlier task's record, perhaps before its end.
   * @throws {SvcError} like {@linkcode TaskEngine.enqueue}
   */
  run(request: TaskRequest, options?: RunOptions): Promise<TaskRecord>;
  /** @throws {SvcError} not_found, also for a task that the caller cannot see */
  get(id: string, sight?: TaskSight): Awaitable<TaskRecord>;
  /** Lists tasks, newest first. @throws {SvcError} validation for an invalid cursor. */
  list(options: TaskQuery): Awaitable<TaskPage>;
  status(): Awaitable<QueueStatus>;
  /** Returns the newest `n` lines of the log, oldest first. */
  log(options: { n: number }): Awaitable<TaskLogEntry[]>;
  /**
   * Yields the log lines after `since_seq` until the task has ended. @throws {SvcError} not_found.
   */
  follow(
    id: string,
    options: { since_seq: number; signal: AbortSignal },
  ): AsyncIterable<TaskLogEntry>;
  /** Returns a task's log so far. @throws {SvcError} not_found. */
  steps(id: string): Awaitable<TaskLogEntry[]>;
  /** Returns the id of the task that a client's request created. */
  taskOf(request: Pick<TaskClient, "key_id" | "request_id">): Awaitable<string | undefined>;
  /** Returns a task's identity for its client. */
  client(id: string): Awaitable<TaskClient | undefined>;
  /** Lists a client's tasks, most recently changed first. @throws {SvcError} validation. */
  listOf(query: ClientQuery): Awaitable<ClientTaskPage>;
  /**
   * Adds or replaces a callback; it is sent immediately if the task has ended.
   * @throws {SvcError} not_found; conflict when the task already has 16 callbacks
   */
  setCallback(id: string, callback: CallbackTarget): Awaitable<void>;
  /** Returns the pending callbacks of a task. @throws {SvcError} not_found. */
  callbacks(id: string): Awaitable<CallbackTarget[]>;
  /** Removes a callback if it exists. @throws {SvcError} not_found. */
  removeCallback(id: string, callback_id: string): Awaitable<void>;
  openArtifact(id: string, name: string): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * Cancels a task, and waits up to 5 s for its executor. Idempotent.
   * @throws {SvcError} not_found; conflict when it has ended otherwise
   */
  cancel(id: string): Promise<TaskRecord>;
  /** Stops taking tasks until `resume`, even after a restart; running ones continue. */
  pause(): Awaitable<void>;
  resume(): Awaitable<void>;
  /**
   * Sets how many queued tasks run at once, also after a restart. Running ones continue.
   * @throws {SvcError} validation when it is not 0 to 64
   */
  setWorkers(count: number): Awaitable<void>;
  /**
   * Stops taking tasks and lets running ones finish for `grace_ms`, then aborts them: queued ones
   * go back to the queue without using an attempt, others fail. An aborted executor has 8 s to end.
   */
  close(grace_ms?: number): Promise<void>;
}
