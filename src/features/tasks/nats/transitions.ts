/** The changes of a task's record at each of its steps. */
import { DETAIL_MAX, type TaskMode } from "../lifecycle.ts";
import { after, type Step } from "../states.ts";
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

/**
 * Returns the task after a step; undefined when another one came first.
 *
 * @param process the process that runs it from now on
 */
export function stepped(
  task: StoredTask,
  step: Step,
  now: number,
  process?: string,
): StoredTask | undefined {
  const { mode, max_attempts, record: { started_at: _at, worker: _worker, ...record } } = task;
  const change = after({ mode, max_attempts, ...task.record }, step, now);
  if (change === undefined) return undefined;
  const { event, detail, extras = "{}", not_before, ...fields } = change;
  return {
    ...task,
    process,
    not_before,
    record: { ...record, ...fields, ...JSON.parse(extras) },
    line: { at: new Date(now).toISOString(), event, detail: detail?.slice(0, DETAIL_MAX) },
  };
}
