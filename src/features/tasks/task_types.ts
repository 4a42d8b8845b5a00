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

/** A request; it has at least one of description and query. */
export type TaskRequest = z.output<ReturnType<typeof taskRequestSchema>>;

/** A file that a task produced. */
export type Artifact = z.output<ReturnType<typeof artifactSchema>>;

/** A criterion of a task, with the evidence that it is met. */
export type Verification = z.output<ReturnType<typeof verificationSchema>>;

/** An executor's result; the artifacts that it stored belong to it too. */
export interface Deliverable {
  summary: string;
  /** In bytes. */
  size: number;
  /** Every criterion that was checked; an unmet one fails the task. */
  verification?: Verification[];
  usage?: Record<string, unknown>;
  /** Hosts whose images the deliverable may show: where its information was read. */
  known_hosts?: string[];
}

/** A task as clients see it. Timestamps are ISO 8601 in UTC. */
export type TaskRecord = z.output<ReturnType<typeof taskSchema>>;

/** The fields of a record that not every task has. */
export type Extras = Pick<TaskRecord, "artifacts" | "verification" | "usage">;

/** The tasks to list. */
export type TaskQuery = z.output<ReturnType<typeof taskListSchema>>;

/** What an executor receives besides the request. */
export interface TaskContext {
  readonly task_id: string;
  /** Whether a client hired it over the network, so that it has less access than the operator. */
  readonly hired: boolean;
  /** Fires when the task must stop; later results are ignored. */
  readonly signal: AbortSignal;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /**
   * A marker to plant in prompts: a deliverable that contains it comes from a model that leaks
   * them.
   */
  readonly canary: string;
  /** Adds a line about the task to the log. */
  note(text: string): void;
  /** Stores a file that the task produced, and shows it in the record. @throws when that fails. */
  keep(artifact: NewArtifact): Promise<Artifact>;
}

/** A file from an executor. */
export interface NewArtifact {
  /** A plain file name. */
  name: string;
  media_type: string;
  content: string | Uint8Array<ArrayBuffer>;
}

/** Runs the tasks of one type. */
export interface Executor {
  readonly task_type: string;
  /**
   * Checks a request before it is accepted.
   *
   * @param hired whether a client sent it over the network
   * @throws {SvcError} validation for an invalid request; permission_denied for a forbidden one
   */
  check?(request: TaskRequest, hired: boolean): void | Promise<void>;
  /**
   * Runs a task and checks its result.
   *
   * @throws {RetryableError} when another attempt may succeed; any other error fails the task
   */
  run(request: TaskRequest, context: TaskContext): Promise<Deliverable>;
}

/** A line of the queue's log. */
export type TaskLogEntry = z.output<ReturnType<typeof taskLogEntrySchema>>;
