import type * as z from "zod";
import type { Effort } from "./efforts.ts";
import type { taskRequestSchema } from "./queued_schemas.ts";
import type {
  artifactSchema,
  taskListSchema,
  taskLogEntrySchema,
  taskSchema,
  verificationSchema,
} from "./schemas.ts";

export type { Effort };

export type TaskStatus = "queued" | "running" | "completed" | "failed";

/** Has a description, a query or both. */
export type TaskRequest = z.output<ReturnType<typeof taskRequestSchema>>;

export type Artifact = z.output<ReturnType<typeof artifactSchema>>;

export type Verification = z.output<ReturnType<typeof verificationSchema>>;

/** Without the artifacts, which the executor has stored. */
export interface Deliverable {
  summary: string;
  /** In bytes. */
  size: number;
  /** An unmet criterion fails the task. */
  verification?: Verification[];
  usage?: Record<string, unknown>;
  /** The hosts that were read; the deliverable may show their images. */
  known_hosts?: string[];
  /** Canaries of earlier attempts, which prompts contained. */
  canaries?: string[];
}

/** Timestamps are ISO 8601 in UTC. */
export type TaskRecord = z.output<ReturnType<typeof taskSchema>>;

/** Fields that not every record has. */
export type Extras = Pick<TaskRecord, "artifacts" | "verification" | "usage">;

export type TaskQuery = z.output<ReturnType<typeof taskListSchema>>;

/** An executor's input besides the request. */
export interface TaskContext {
  readonly task_id: string;
  /** Requested over the network: less access than the operator has. */
  readonly hired: boolean;
  /** The task must stop; later results are ignored. */
  readonly signal: AbortSignal;
  /** When the task fails if it has not ended, in milliseconds since 1970. */
  readonly deadline_at?: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** For prompts: a deliverable that contains it comes from a model that leaks them. */
  readonly canary: string;
  /** How far an earlier attempt came that was cut off with its daemon; see `keepWork`. */
  readonly left?: string;
  /**
   * Notes how far the attempt is, on disk, for an attempt of the next daemon; `drop` removes then
   * what the attempt leaves. Undefined if another attempt begins anew: its client waits, or it may
   * run on another machine.
   */
  readonly keepWork?: (work: string) => Promise<void>;
  /**
   * Fires when the daemon stops: an executor that keeps its work ends then, with the signal's reason.
   * Never fires without `keepWork`.
   */
  readonly leaving: AbortSignal;
  /** Adds a line to the task's log. */
  note(text: string): void;
  /** Stores a file and shows it in the record. @throws when that fails. */
  keep(artifact: NewArtifact): Promise<Artifact>;
}

export interface NewArtifact {
  /** A plain file name. */
  name: string;
  media_type: string;
  content: string | Uint8Array<ArrayBuffer>;
}

export interface Executor {
  readonly task_type: string;
  /**
   * Checks a request before it is accepted.
   * @throws {SvcError} validation when it is invalid; permission_denied when it is forbidden
   */
  check?(request: TaskRequest, hired: boolean): void | Promise<void>;
  /**
   * Names what only one task at a time may work on, among all machines; undefined for most tasks.
   * An engine of several machines asks; `run` keeps tasks of one machine apart by itself.
   */
  exclusive?(request: TaskRequest): Promise<string | undefined>;
  /**
   * Runs a task and checks its result.
   * @throws {RetryableError} when another attempt may succeed; other errors fail the task
   */
  run(request: TaskRequest, context: TaskContext): Promise<Deliverable>;
  /**
   * Removes what a task has left for the next daemon, when no attempt goes on with it: after each
   * attempt with `keepWork`, and for a task that is cancelled while it waits.
   *
   * @param left the last that was given to `keepWork`
   */
  drop?(task_id: string, left: string | undefined, completed: boolean): Promise<void>;
}

export type TaskLogEntry = z.output<ReturnType<typeof taskLogEntrySchema>>;
