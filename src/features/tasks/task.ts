/** What a task is: asked for, recorded, carried out (product.md, Task request and Task record). */

export type TaskStatus = "queued" | "running" | "completed" | "failed";

/** What ids of tasks look like: `t-` and a ULID. */
export const TASK_ID = /^t-[0-9A-Z]{26}$/;

/** How much is done for a task; what that is, each executor's own table says. */
export const EFFORTS = ["minimal", "standard", "thorough", "critical"] as const;
export type Effort = typeof EFFORTS[number];

/** The types of tasks there are executors for. */
export const TASK_TYPES = ["research", "browser", "deploy", "code"] as const;

/** Reports of its end that one task may have. */
export const CALLBACKS_MAX = 16;
/** How often a task of the queue is begun at most, where nothing else was asked for. */
export const MAX_ATTEMPTS = 3;
/**
 * Ended tasks that are kept, by their number: a clock that is wrong for a moment must not make all of
 * them old.
 */
export const KEEP_TASKS = 10_000;
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

/** What an executor returns; the artifacts it kept belong to it too. */
export interface Deliverable {
  summary: string;
  /** In bytes. */
  size: number;
  /** Every criterion that was checked; one that is not met fails the task. */
  verification?: Verification[];
  usage?: Record<string, unknown>;
  /** Hosts that the deliverable may show images of: where what it reports was read. */
  known_hosts?: string[];
}

/** What a record has beyond the fields of every task. */
export interface Extras {
  artifacts?: Artifact[];
  verification?: Verification[];
  usage?: Record<string, unknown>;
}

/** A task as clients see it. Timestamps are ISO 8601 in UTC. */
export interface TaskRecord extends Extras {
  /** `t-` and a ULID. */
  id: string;
  status: TaskStatus;
  task_type: string;
  effort?: Effort;
  /** The beginning of what is asked for. */
  subject?: string;
  /** Someone else asked for it, over the network. */
  hired?: true;
  created_at: string;
  /** When the last attempt began. */
  started_at?: string;
  completed_at?: string;
  summary?: string;
  /** In bytes. */
  size?: number;
  error?: string;
  /** How often an executor was started for it. */
  attempts: number;
  /** Which worker ran the last attempt, where tasks are run on more than one machine. */
  worker?: string;
  cancelled?: true;
}

/** What an executor is told beside the request. */
export interface TaskContext {
  readonly task_id: string;
  /** Whether someone else asked for it, over the network: it may reach less than the operator. */
  readonly hired: boolean;
  /** Fires when the task must stop: what it says next is not heard any more. */
  readonly signal: AbortSignal;
  /** 1 for the first. */
  readonly attempt: number;
  /** A mark to plant in prompts: a deliverable that has it was made by something that leaks them. */
  readonly canary: string;
  /** Adds a line about the task to the log. */
  note(text: string): void;
  /** Keeps something that the task made, and shows it in the record. @throws when it cannot be. */
  keep(artifact: NewArtifact): Promise<Artifact>;
}

/** An artifact as an executor hands it over. */
export interface NewArtifact {
  /** A plain file name. */
  name: string;
  media_type: string;
  content: string | Uint8Array<ArrayBuffer>;
}

/** Carries out the tasks of one type. */
export interface Executor {
  readonly task_type: string;
  /**
   * Looks at a request before it is taken.
   *
   * @param hired whether someone else asks, over the network.
   * @throws {SvcError} validation when it will not do; permission_denied when it may not be.
   */
  check?(request: TaskRequest, hired: boolean): void | Promise<void>;
  /**
   * Carries a task out, and checks what came of it.
   *
   * @throws {RetryableError} when another attempt may do better; anything else fails the task.
   */
  run(request: TaskRequest, context: TaskContext): Promise<Deliverable>;
}

/** The attempt failed for a reason that may pass: a network, a limit, a busy port. */
export class RetryableError extends Error {
  override name = "RetryableError";
}

/** Events of the log after which nothing more happens to a task. */
export const FINAL_EVENTS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Whether nothing more happens to a task. */
export function hasEnded({ status }: { status: TaskStatus }): boolean {
  return status === "completed" || status === "failed";
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
