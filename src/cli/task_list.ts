import type { TaskPage } from "../features/tasks/engine.ts";
import type { TaskRecord } from "../features/tasks/task.ts";
import type { Params } from "../features/verb_types.ts";
import { print } from "./daemon_call.ts";
import { table } from "./table.ts";
import type { TaskListFlags } from "./table/task_list.ts";
import { named, ownName } from "./own_name.ts";

/** How a command lists tasks. */
export interface TaskListing {
  /** The command after `svc`. */
  command: string;
  none: string;
  ask(params: Params<"task.list">): Promise<TaskPage>;
}

/** Prints a page of tasks, and the command for the next page. @returns the exit code. */
export async function listTasks(
  { state, cursor, json }: TaskListFlags,
  { command, none, ask }: TaskListing,
): Promise<number> {
  const page = await ask({ state, cursor });
  if (json) return print(page);
  const { tasks, next_cursor } = page;
  if (tasks.length > 0) console.log(taskTable(tasks));
  else console.log(cursor === undefined ? named(none) : "no older tasks");
  if (next_cursor === undefined) return 0;
  const chosen = state === undefined ? "" : ` --state ${state}`;
  console.log(`… for older tasks: ${ownName()} ${command}${chosen} --cursor ${next_cursor}`);
  return 0;
}

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

/** Returns the first line of a text, cut to fit into a table. */
export function firstLine(text: string): string {
  const [line] = text.trim().split("\n", 1);
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
