/** The changes of a task's record at each of its steps. */
import { DETAIL_MAX, LOST_WITH_WORKER, type Outcome, type TaskMode } from "../lifecycle.ts";
import type { TaskRecord } from "../task.ts";
import type { Line } from "./bucket.ts";
import { type ClientRef, refOf } from "./client_ref.ts";
import type { QueuedTask } from "./queue.ts";

/** A task on the server. Each revision is one step. */
export interface StoredTask {
  record: TaskRecord;
  mode: TaskMode;
  /** Whether a client hired it over the network. */
  hired: boolean;
  /** The key id of the token that requested it. */
  owner?: string;
  max_attempts: number;
  timeout_ms?: number;
  /** When the next attempt is due, in milliseconds since 1970. */
  not_before?: number;
  /** The process that runs it. */
  process?: string;
  client?: ClientRef;
  line: Line;
}

/** The process that runs a task. */
export interface Runner {
  /** Distinguishes processes. */
  process: string;
  /** The name in records. */
  worker: string;
}

/** The most characters of the request in a record. */
const SUBJECT_MAX = 300;

/** Returns a newly requested task. */
export function queued(task: QueuedTask): StoredTask {
  const { id, mode, hired, owner, max_attempts, timeout_ms, client, created_at, request } = task;
  const { task_type, effort, description, query } = request;
  const subject = (description ?? query)?.slice(0, SUBJECT_MAX);
  const marks = hired ? { hired: true as const } : {};
  return {
    record: { id, status: "queued", task_type, effort, subject, ...marks, created_at, attempts: 0 },
    mode,
    hired,
    owner,
    max_attempts,
    timeout_ms,
    client: client && refOf(client),
    line: { at: created_at, event: "enqueued", detail: task_type },
  };
}

/** Returns the task after its next attempt has started. */
export function started(task: StoredTask, runner: Runner, now: number): StoredTask {
  const { record, max_attempts, not_before: _, ...rest } = task;
  const at = iso(now);
  const attempts = record.attempts + 1;
  const { process, worker } = runner;
  return {
    ...rest,
    max_attempts,
    process,
    record: {
      ...record,
      status: "running",
      started_at: later(at, record.created_at),
      attempts,
      worker,
    },
    line: { at, event: "started", detail: `attempt ${attempts} of ${max_attempts}, by ${worker}` },
  };
}

/** Returns the task after an attempt has ended. */
export function settled(task: StoredTask, outcome: Outcome, now: number): StoredTask {
  const { process: _process, ...rest } = task;
  const { started_at, worker: _worker, ...record } = task.record;
  const at = iso(now);
  const step = (event: string, detail?: string): Line => {
    return { at, event, detail: detail?.slice(0, DETAIL_MAX) };
  };
  const ended = {
    ...task.record,
    completed_at: later(at, started_at ?? record.created_at),
  };
  switch (outcome.kind) {
    case "completed": {
      const { summary, size, extras } = outcome;
      return {
        ...rest,
        record: { ...ended, status: "completed", summary, size, ...JSON.parse(extras) },
        line: step("completed", `${size} bytes`),
      };
    }
    case "failed": {
      const { error, cancelled, extras = "{}" } = outcome;
      const marks = cancelled ? { cancelled } : {};
      return {
        ...rest,
        record: { ...ended, status: "failed", error, ...marks, ...JSON.parse(extras) },
        line: step(cancelled ? "cancelled" : "failed", error),
      };
    }
    case "retry":
      return {
        ...rest,
        record: { ...record, status: "queued" },
        not_before: outcome.not_before,
        line: step("retry", outcome.error),
      };
    case "returned":
      return {
        ...rest,
        record: { ...record, status: "queued", attempts: record.attempts - 1 },
        line: step("returned", outcome.reason),
      };
  }
}

/**
 * Returns a running task after its worker was lost: another attempt follows, unless that was the
 * last.
 */
export function lost(task: StoredTask, now: number): StoredTask {
  const { attempts, worker } = task.record;
  const error = `${LOST_WITH_WORKER} ${worker}, attempt ${attempts} of ${task.max_attempts}`;
  const again = attempts < task.max_attempts;
  return settled(
    task,
    again ? { kind: "retry", error, not_before: 0 } : { kind: "failed", error },
    now,
  );
}

function iso(now: number): string {
  return new Date(now).toISOString();
}

/** The clocks of two machines may differ. */
function later(a: string, b: string): string {
  return a > b ? a : b;
}
