/** A task as its object keeps it, and its steps. */
import * as z from "zod";
import { after, type Step } from "../states.ts";
import { DETAIL_MAX, type NewTask } from "../lifecycle.ts";
import { newTaskSchema } from "../queued_schemas.ts";
import { taskSchema } from "../schemas.ts";
import type { TaskLogEntry } from "../task.ts";

export const storedTaskSchema = () =>
  z.object({
    record: taskSchema(),
    task: newTaskSchema().omit({ callback: true }),
    seq: z.int().describe("The order of arrival"),
    run: z.int().describe("Number of attempts that have begun, also those that do not count"),
    not_before: z.number().optional().describe(
      "When the next attempt is due, in milliseconds since 1970",
    ),
  });

/** A task as its object keeps it. */
export type StoredTask = z.output<ReturnType<typeof storedTaskSchema>>;

export type Line = Omit<TaskLogEntry, "seq" | "task_id">;

/** The most characters of the request in a record. */
const SUBJECT_MAX = 300;

/** Returns a newly requested task. */
export function queued({ callback: _, ...task }: NewTask, now: number): StoredTask {
  const { id, hired, request: { task_type, effort, description, query } } = task;
  const subject = (description ?? query)?.slice(0, SUBJECT_MAX);
  const marks = hired ? { hired: true as const } : {};
  const created_at = new Date(now).toISOString();
  return {
    record: { id, status: "queued", task_type, effort, subject, ...marks, created_at, attempts: 0 },
    task,
    seq: 0,
    run: 0,
  };
}

/** Returns the task after a step and the line about it; undefined when another one came first. */
export function stepped(
  stored: StoredTask,
  step: Step,
  now: number,
): { stored: StoredTask; line: Line } | undefined {
  const { task, record: { started_at: _at, worker: _worker, ...record } } = stored;
  const change = after({ ...task, ...stored.record }, step, now);
  if (change === undefined) return undefined;
  const { event, detail, extras = "{}", not_before, ...fields } = change;
  return {
    stored: {
      ...stored,
      run: stored.run + (step.kind === "started" ? 1 : 0),
      not_before: not_before || undefined,
      record: { ...record, ...fields, ...JSON.parse(extras) },
    },
    line: { at: new Date(now).toISOString(), event, detail: detail?.slice(0, DETAIL_MAX) },
  };
}
