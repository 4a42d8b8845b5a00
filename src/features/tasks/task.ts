/**
 * The types of a task: its request, record and execution (product.md, Task request and Task
 * record).
 */
import type { TaskStatus } from "./task_types.ts";

export { EFFORTS } from "./efforts.ts";
export { TASK_ID } from "./task_id.ts";
export type * from "./task_types.ts";

/** The task types with an executor. */
export const TASK_TYPES = ["research", "browser", "deploy", "code"] as const;

/** The most callbacks of one task. */
export const CALLBACKS_MAX = 16;
/** The default number of attempts at a queued task. */
export const MAX_ATTEMPTS = 3;
/**
 * The number of ended tasks that are kept. A number rather than an age, because a clock that is
 * briefly wrong must not make all of them old.
 */
export const KEEP_TASKS = 10_000;
/**
 * The default time limit of a task that a client waits for (product.md, Limits), in milliseconds.
 */
export const TIMEOUT_MS = 600_000;

/**
 * The attempt failed for a reason that may be temporary: the network, a rate limit, a busy port.
 */
export class RetryableError extends Error {
  override name = "RetryableError";
}

/** Events in the log after which a task does not change. */
export const FINAL_EVENTS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Reports whether a task has ended. */
export function hasEnded({ status }: { status: TaskStatus }): boolean {
  return status === "completed" || status === "failed";
}
