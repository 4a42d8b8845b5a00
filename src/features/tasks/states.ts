/**
 * The states of a task, and the steps between them. It is pure: each engine stores what this
 * decides.
 *
 *     queued ── started ──▶ running ── completed ────▶ completed
 *     queued ── failed ───────────────────────────────▶ failed
 *                           running ── failed · lost ─▶ failed
 *     queued ◀── retry · returned · lost ── running
 */
import { LOST, LOST_WITH_WORKER, type Outcome, type TaskMode } from "./lifecycle.ts";
import type { TaskRecord, TaskStatus } from "./task.ts";

/** The input for the next step. */
export interface TaskState
  extends Pick<TaskRecord, "status" | "attempts" | "created_at" | "started_at" | "worker"> {
  mode: TaskMode;
  max_attempts: number;
}

export type Step =
  | { kind: "started"; worker?: string }
  /** The process of the attempt is gone. Another one follows, unless it was the last. */
  | { kind: "lost" }
  | Outcome;

/** The result of a step. Missing fields are cleared. */
export interface Change extends
  Pick<
    TaskRecord,
    | "status"
    | "attempts"
    | "started_at"
    | "completed_at"
    | "summary"
    | "size"
    | "error"
    | "cancelled"
    | "worker"
  > {
  extras?: string;
  /** In milliseconds since 1970. */
  not_before?: number;
  event: string;
  detail?: string;
}

const FROM: Record<Step["kind"], readonly TaskStatus[]> = {
  started: ["queued"],
  lost: ["running"],
  completed: ["running"],
  failed: ["queued", "running"],
  retry: ["running"],
  returned: ["running"],
};

/** Returns the change; undefined when another step came first. */
export function after(task: TaskState, step: Step, now: number): Change | undefined {
  if (!FROM[step.kind].includes(task.status)) return undefined;
  const change = changeBy(task, step, new Date(now).toISOString());
  const given: Partial<Record<keyof Change, unknown>> = {};
  for (const name of Object.keys(change) as (keyof Change)[]) {
    if (change[name] !== undefined) given[name] = change[name];
  }
  return given as Change;
}

function changeBy(task: TaskState, step: Step, at: string): Change {
  const { attempts, max_attempts, created_at, started_at, worker } = task;
  const ended = { attempts, started_at, worker, completed_at: later(at, started_at ?? created_at) };
  switch (step.kind) {
    case "started": {
      const by = step.worker === undefined ? "" : `, by ${step.worker}`;
      return {
        status: "running",
        attempts: attempts + 1,
        started_at: later(at, created_at),
        worker: step.worker,
        event: "started",
        detail: `attempt ${attempts + 1} of ${max_attempts}${by}`,
      };
    }
    case "completed": {
      const { summary, size, extras } = step;
      const detail = `${size} bytes`;
      return { ...ended, status: "completed", summary, size, extras, event: "completed", detail };
    }
    case "failed": {
      const { error, cancelled, extras } = step;
      const event = cancelled ? "cancelled" : "failed";
      const detail = error === event ? undefined : error;
      return { ...ended, status: "failed", error, cancelled, extras, event, detail };
    }
    case "retry": {
      const { not_before, error } = step;
      return { status: "queued", attempts, not_before, event: "retry", detail: error };
    }
    case "returned":
      return {
        status: "queued",
        attempts: attempts - 1,
        not_before: 0,
        event: "returned",
        detail: step.reason,
      };
    case "lost": {
      const by = worker === undefined ? LOST : `${LOST_WITH_WORKER} ${worker}`;
      // The client on this machine waits for the only attempt.
      const only = task.mode === "sync" && worker === undefined;
      const error = only ? by : `${by}, attempt ${attempts} of ${max_attempts}`;
      const next: Outcome = attempts < max_attempts
        ? { kind: "retry", error, not_before: 0 }
        : { kind: "failed", error };
      return changeBy(task, next, at);
    }
  }
}

/** The later time: clocks may jump back, and those of two machines may differ. */
function later(a: string, b: string): string {
  return a > b ? a : b;
}
