/** What a task is: asked for, recorded, carried out (product.md, Task request and Task record). */

export type TaskStatus = "queued" | "running" | "completed" | "failed";
export type Effort = "minimal" | "standard" | "thorough" | "critical";

/** Tasks of the queue that may run at once. */
export const WORKERS_MAX = 64;
/** What a task that a client waits for may take by default (product.md, Limits), in milliseconds. */
export const TIMEOUT_MS = 600_000;

/** What is asked for; at least one of description and query is there. */
export interface TaskRequest {
  task_type: string;
  description?: string;
  query?: string;
  effort?: Effort;
  /** Options of the executor. */
  extra?: Record<string, unknown>;
}

/** Something that a task made. */
export interface Artifact {
  name: string;
  media_type: string;
  /** In bytes. */
  size: number;
  sha256: string;
  url: string;
}

/** A criterion of a task, and what shows that it is met. */
export interface Verification {
  criterion: string;
  passed: boolean;
  evidence: string;
}

/** What an executor returns. */
export interface Deliverable {
  summary: string;
  /** In bytes. */
  size: number;
  artifacts?: Artifact[];
  verification?: Verification[];
  usage?: Record<string, unknown>;
}

/** A task as clients see it. Timestamps are ISO 8601 in UTC. */
export interface TaskRecord extends Partial<Deliverable> {
  /** `t-` and a ULID. */
  id: string;
  status: TaskStatus;
  task_type: string;
  created_at: string;
  /** When the last attempt began. */
  started_at?: string;
  completed_at?: string;
  error?: string;
  /** How often an executor was started for it. */
  attempts: number;
  cancelled?: true;
}

/** What an executor is told beside the request. */
export interface TaskContext {
  readonly task_id: string;
  /** Fires when the task must stop: what it says next is not heard any more. */
  readonly signal: AbortSignal;
  /** 1 for the first. */
  readonly attempt: number;
  /** Adds a line about the task to the log. */
  note(text: string): void;
}

/** Carries out the tasks of one type. */
export interface Executor {
  readonly task_type: string;
  /** Looks at a request before it is taken. @throws {SvcError} validation when it will not do. */
  check?(request: TaskRequest): void;
  /**
   * Carries a task out; returns only what passed its checks.
   *
   * @throws {RetryableError} when another attempt may do better; anything else fails the task.
   */
  run(request: TaskRequest, context: TaskContext): Promise<Deliverable>;
}

/** The attempt failed for a reason that may pass: a network, a limit, a busy port. */
export class RetryableError extends Error {
  override name = "RetryableError";
}

/** A line of the queue's log. */
export interface TaskLogEntry {
  seq: number;
  at: string;
  /** Absent in what concerns the queue as a whole. */
  task_id?: string;
  event: string;
  detail?: string;
}
