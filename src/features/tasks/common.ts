/** What engines name alike and refuse alike, wherever they keep their tasks. */
import { monotonicUlid } from "@std/ulid";
import { SvcError } from "../../protocol/errors.ts";
import { WORKERS_MAX } from "../../config/config.ts";
import { CALLBACKS_MAX } from "./task.ts";

/** The id of a new task. */
export function newTaskId(): string {
  return `t-${monotonicUlid()}`;
}

/** A task is not there. @param hired whether someone who hires asked: they have no queue to list. */
export function noSuchTask(id: string, hired: boolean): SvcError {
  return new SvcError("not_found", `there is no task ${JSON.stringify(id)}`, {
    hint: hired ? undefined : "`svc ctl tasks` lists the tasks",
  });
}

/** @throws {SvcError} validation when there cannot be so many workers. */
export function requireWorkers(count: number): void {
  if (Number.isInteger(count) && count >= 0 && count <= WORKERS_MAX) return;
  throw new SvcError("validation", `workers must be 0 to ${WORKERS_MAX}, got ${count}`);
}

/** A task has as many callbacks as it may have. */
export function tooManyCallbacks(task_id: string): SvcError {
  return new SvcError("conflict", `task ${task_id} has ${CALLBACKS_MAX} callbacks already`, {
    hint: "remove one first",
  });
}

/** What was given as a page token is none. @param got what it was. */
export function noPageToken(got: string): SvcError {
  return new SvcError("validation", `the page token must be one that was given, got "${got}"`);
}
