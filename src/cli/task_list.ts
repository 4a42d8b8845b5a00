/** Listing tasks, page by page, under either of the names it has. */
import { nearestOf } from "../base/nearest.ts";
import type { TaskPage } from "../features/tasks/engine.ts";
import type { TaskRecord } from "../features/tasks/task.ts";
import { type Flags, UsageError } from "./args.ts";
import { print } from "./daemon_call.ts";
import { table } from "./table.ts";

/** How a command lists tasks. */
export interface TaskListing {
  /** The command, as it is typed. */
  command: string;
  /** Said where there are no tasks. */
  none: string;
  /** Asks the daemon for a page. */
  ask(params: { state?: string; cursor?: string }): Promise<TaskPage>;
}

const STATES = ["queued", "running", "completed", "failed"];

/**
 * Shows a page of tasks, and how the next one is asked for.
 *
 * @returns the exit code.
 * @throws {UsageError} for a state that there is not; whatever `ask` throws.
 */
export async function listTasks(
  { boolean, string: { state, cursor } }: Flags,
  { command, none, ask }: TaskListing,
): Promise<number> {
  if (state !== undefined && !STATES.includes(state)) {
    const nearest = nearestOf(state, STATES);
    const hint = nearest ? `did you mean "${nearest}"?` : `known: ${STATES.join(", ")}`;
    throw new UsageError(`there is no state "${state}"; ${hint}`);
  }
  const page = await ask({ state, cursor });
  if (boolean.json) return print(page);
  const { tasks, next_cursor } = page;
  if (tasks.length > 0) console.log(taskTable(tasks));
  else console.log(cursor === undefined ? none : "no older tasks");
  if (next_cursor === undefined) return 0;
  const chosen = state === undefined ? "" : ` --state ${state}`;
  console.log(`… older ones: ${command}${chosen} --cursor ${next_cursor}`);
  return 0;
}

/** Tasks as a table, a line each. */
function taskTable(tasks: readonly TaskRecord[]): string {
  const rows = tasks.map(({ id, cancelled, status, task_type, created_at, error, summary }) => [
    id,
    cancelled ? "cancelled" : status,
    task_type,
    created_at,
    firstLine(cancelled ? "" : error ?? summary ?? ""),
  ]);
  return table([["TASK", "STATE", "TYPE", "CREATED", ""], ...rows]);
}

/** The beginning of a text, as long as fits into a table. */
export function firstLine(text: string): string {
  const [line] = text.trim().split("\n", 1);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
