/** The life cycle of a task. */
import type * as z from "zod";
import type { newTaskSchema } from "./queued_schemas.ts";
import type { TaskRequest } from "./task.ts";

/** Whether a task waits for a worker, or was started immediately for a waiting client. */
export type TaskMode = "queue" | "sync";

export type NewTask = z.output<ReturnType<typeof newTaskSchema>>;

export interface StartedTask {
  id: string;
  request: TaskRequest;
  hired: boolean;
  attempt: number;
  max_attempts: number;
  timeout_ms?: number;
  /** See {@linkcode TaskContext.left}. */
  left?: string;
}

export type Outcome =
  /** `extras`: the rest of the deliverable, besides summary and size, as JSON. */
  | { kind: "completed"; summary: string; size: number; extras: string }
  | { kind: "failed"; error: string; cancelled?: true; extras?: string }
  /** Another attempt follows, no earlier than `not_before`. */
  | { kind: "retry"; error: string; not_before: number }
  /** The attempt was aborted and does not count. */
  | { kind: "returned"; reason: string };

export interface Settlement {
  id: string;
  attempt: number;
  outcome: Outcome;
}

/** The error of a task whose daemon stopped. */
export const LOST = "lost when the daemon stopped";
/** The worker's name follows. */
export const LOST_WITH_WORKER = "lost with its worker";

/** In characters. */
export const DETAIL_MAX = 1000;
