/** `svc task`: runs tasks with the daemon's executors, without any network surface. */
import { join } from "@std/path";
import { connectOrStart } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import type { TaskRecord } from "../features/tasks/task.ts";
import { print, useOnce } from "./daemon_call.ts";
import type { Input } from "./spec.ts";
import { ownPaths } from "./environment.ts";
import { table } from "./table.ts";
import type * as spec from "./table/task.ts";
import { listTasks } from "./task_list.ts";
import { absolute } from "./workdir.ts";
import { visible } from "../base/visible.ts";
import { named } from "./own_name.ts";

/** Runs `svc task run`. */
export async function runTask({ flags, args }: Input<typeof spec.TASK_RUN>): Promise<number> {
  const { type: task_type, words: description } = args;
  const { effort, timeout: timeout_ms } = flags;
  const params = { task_type, description, effort, timeout_ms, extra: extraOf(task_type, flags) };
  const task: TaskRecord = await withOwnDaemon((rpc) => rpc.call("task.run", params));
  if (flags.json) print(task);
  else show(task);
  return task.status === "completed" ? 0 : 1;
}

function extraOf(
  task_type: string,
  { extra, workdir, url, model }: Input<typeof spec.TASK_RUN>["flags"],
): Record<string, unknown> {
  return {
    ...(workdir === undefined ? {} : { workdir: absolute(workdir) }),
    ...(url === undefined ? {} : task_type === "research" ? { urls: [url] } : { url }),
    ...(model === undefined ? {} : { model }),
    ...extra,
  };
}

/** Runs `svc task list`. */
export function list({ flags }: Input<typeof spec.TASK_LIST>): Promise<number> {
  return listTasks(flags, {
    command: "task list",
    none: "no tasks; `svc task run` runs one",
    ask: (params) => withOwnDaemon((rpc) => rpc.call("task.list", params)),
  });
}

/** Runs `svc task get`. */
export async function get({ flags, args }: Input<typeof spec.TASK_GET>): Promise<number> {
  const task: TaskRecord = await withOwnDaemon((rpc) => rpc.call("task.get", args));
  if (flags.json) return print(task);
  show(task);
  return 0;
}

/** Runs `svc task cancel`. */
export async function cancel({ flags, args }: Input<typeof spec.TASK_CANCEL>): Promise<number> {
  const task = await withOwnDaemon((rpc) => rpc.call("task.cancel", args));
  if (flags.json) return print(task);
  console.log(`cancelled ${args.task_id}`);
  return 0;
}

function show({ summary, verification = [], artifacts = [], ...task }: TaskRecord): void {
  const { id, status, task_type, error } = task;
  console.log(table([
    ["task", id],
    ["type", task_type],
    ["state", status],
    ...(error === undefined ? [] : [["error", named(error)]]),
    ...verification.map(({ passed, criterion }) => [passed ? "met" : "NOT MET", criterion]),
    ...artifacts.map(({ name }) => ["artifact", join(ownPaths().artifacts, id, name)]),
  ]));
  if (summary !== undefined) console.log(`\n${visible(summary)}`);
}

/** Uses the running daemon, or starts one. */
function withOwnDaemon<T>(use: (rpc: RpcClient) => Promise<T>): Promise<T> {
  return useOnce(connectOrStart(ownPaths(), () => console.error("starting the daemon …")), use);
}
