/** The types of a task (product.md, Task request and Task record). */
import type { TaskStatus } from "./task_types.ts";

export { EFFORTS } from "./efforts.ts";
export { TASK_ID } from "./task_id.ts";
export type * from "./task_types.ts";

/** With an executor. */
export const TASK_TYPES = ["research", "browser", "deploy", "code"] as const;

/** Per task. */
export const CALLBACKS_MAX = 16;
/** Of a queued task, by default. */
export const MAX_ATTEMPTS = 3;
/** Ended tasks to keep. Not an age: a clock that is briefly wrong must not make all of them old. */
export const KEEP_TASKS = 10_000;
/** The default for a task that a client waits for (product.md, Limits). */
export const TIMEOUT_MS = 600_000;

/** The cause may be temporary: the network, a rate limit, a busy port. */
export class RetryableError extends Error {
  override name = "RetryableError";
}

/** Log events after which a task does not change. */
export const FINAL_EVENTS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Reports whether a task is completed or failed. */
export function hasEnded({ status }: { status: TaskStatus }): boolean {
  return status === "completed" || status === "failed";
}
