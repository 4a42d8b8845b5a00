/** The queue's commands of `svc ctl`. */
import type { QueueStatus } from "../features/tasks/engine.ts";
import type { TaskLogEntry, TaskRecord } from "../features/tasks/task.ts";
import { print, withDaemon } from "./daemon_call.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { table } from "./table.ts";
import type * as spec from "./table/ctl.ts";
import { firstLine, listTasks } from "./task_list.ts";
import { absolute } from "./workdir.ts";

/** Runs `svc ctl enqueue`. */
export async function enqueue(
  { flags, args: { task_type, description } }: Input<typeof spec.ENQUEUE>,
): Promise<number> {
  const { workdir, model } = flags;
  if (task_type === "code" && workdir === undefined) {
    throw new UsageError("a code task needs --workdir <dir>, the directory its agent works in");
  }
  const extra = { workdir: workdir === undefined ? undefined : absolute(workdir), model };
  const params = { task_type, description, extra };
  const task: TaskRecord = await withDaemon((rpc) => rpc.call("queue.enqueue", params));
  if (flags.json) return print(task);
  console.log(task.id);
  return 0;
}

/** Runs `svc ctl tasks`. */
export function tasks({ flags }: Input<typeof spec.TASKS>): Promise<number> {
  return listTasks(flags, {
    command: "ctl tasks",
    none: "no tasks; `svc ctl enqueue` adds one",
    ask: (params) => withDaemon((rpc) => rpc.call("queue.tasks", params)),
  });
}

/** Runs `svc ctl cancel`. */
export async function cancel({ flags, args }: Input<typeof spec.CANCEL>): Promise<number> {
  const task = await withDaemon((rpc) => rpc.call("queue.cancel", args));
  if (flags.json) return print(task);
  console.log(`cancelled ${args.task_id}`);
  return 0;
}

/** Runs `svc ctl status`. */
export function status({ flags }: Input<typeof spec.STATUS>): Promise<number> {
  return show("queue.status", flags.json);
}

/** Runs `svc ctl pause`. */
export function pause({ flags }: Input<typeof spec.PAUSE>): Promise<number> {
  return show("queue.pause", flags.json);
}

/** Runs `svc ctl resume`. */
export function resume({ flags }: Input<typeof spec.RESUME>): Promise<number> {
  return show("queue.resume", flags.json);
}

/** Runs `svc ctl workers`. */
export async function workers({ flags, args: { n } }: Input<typeof spec.WORKERS>): Promise<number> {
  const params = n === undefined ? {} : { count: n };
  const result = await withDaemon((rpc) => rpc.call("queue.workers", params));
  if (flags.json) return print(result);
  console.log(
    `${result.workers} ${result.workers === 1 ? "worker" : "workers"}, ${result.busy} busy`,
  );
  return 0;
}

/** Runs `svc ctl wal`. */
export async function wal({ flags, args }: Input<typeof spec.WAL>): Promise<number> {
  const result = await withDaemon((rpc) => rpc.call("queue.wal", args));
  if (flags.json) return print(result);
  const entries: TaskLogEntry[] = result.entries;
  if (entries.length === 0) console.log("the queue's log is empty");
  else console.log(table(entries.map(walRow)));
  return 0;
}

async function show(
  method: "queue.status" | "queue.pause" | "queue.resume",
  json: boolean,
): Promise<number> {
  const status: QueueStatus = await withDaemon((rpc) => rpc.call(method, {}));
  if (json) return print(status);
  const { paused, workers, busy, queued, running, completed, failed } = status;
  const how = paused ? "paused" : workers === 0 ? "no workers" : "taking tasks";
  console.log(table([
    ["queue", how],
    ["workers", `${workers}, ${busy} busy`],
    ["tasks", `${queued} queued, ${running} running, ${completed} completed, ${failed} failed`],
  ]));
  return 0;
}

function walRow({ seq, at, task_id = "-", event, detail = "" }: TaskLogEntry): string[] {
  return [String(seq), at, task_id, event, firstLine(detail)];
}
