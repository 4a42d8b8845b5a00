import type { Result } from "../rpc/api.ts";

export type Task = Result<"task.get">;
export type TaskStatus = Task["status"];

/** The colour of a state, and how it is called. */
export const STATUS: Record<TaskStatus | "cancelled", { tone: string; word: string }> = {
  queued: { tone: "pending", word: "Queued" },
  running: { tone: "running", word: "Running" },
  completed: { tone: "done", word: "Completed" },
  failed: { tone: "errored", word: "Failed" },
  cancelled: { tone: "cancelled", word: "Cancelled" },
};

export const STATUSES: readonly TaskStatus[] = ["queued", "running", "completed", "failed"];

/** What a task is called where its request cannot be seen in full. */
export function nameOf({ subject, task_type }: Task): string {
  return subject?.split("\n")[0] || task_type;
}

/** Whether nothing more happens to a task. */
export function hasEnded({ status }: Task): boolean {
  return status === "completed" || status === "failed";
}
