/** Names and errors that all engines share. */
import { monotonicUlid } from "@std/ulid";
import { SvcError } from "../../protocol/errors.ts";
import { WORKERS_MAX } from "./limits.ts";
import { CALLBACKS_MAX } from "./task.ts";

/** Returns the id of a new task. */
export function newTaskId(): string {
  return `t-${monotonicUlid()}`;
}

/** Returns the error for a missing task. @param hired a hiring client cannot list the queue */
export function noSuchTask(id: string, hired: boolean): SvcError {
  return new SvcError("not_found", `there is no task ${JSON.stringify(id)}`, {
    hint: hired ? undefined : "`svc ctl tasks` lists the tasks",
  });
}

/** @throws {SvcError} validation when the number of workers is out of range */
export function requireWorkers(count: number): void {
  if (Number.isInteger(count) && count >= 0 && count <= WORKERS_MAX) return;
  throw new SvcError("validation", `workers must be 0 to ${WORKERS_MAX}, got ${count}`);
}

/** Returns the error for a task that has {@linkcode CALLBACKS_MAX} callbacks. */
export function tooManyCallbacks(task_id: string): SvcError {
  return new SvcError("conflict", `task ${task_id} has ${CALLBACKS_MAX} callbacks already`, {
    hint: "remove one first",
  });
}

/** Returns the error for an invalid page token. */
export function noPageToken(got: string): SvcError {
  return new SvcError("validation", `invalid page token "${got}"`);
}
