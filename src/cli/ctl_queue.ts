/** The queue's commands of `svc ctl`. */
import type { QueueStatus } from "../features/tasks/engine.ts";
import type { TaskLogEntry, TaskRecord } from "../features/tasks/task.ts";
import { UsageError } from "./args.ts";
import { type Handler, print, required, withDaemon } from "./daemon_call.ts";
import { table } from "./table.ts";
import { firstLine, listTasks } from "./task_list.ts";
import { absolute } from "./workdir.ts";

export const QUEUE_HELP = `  enqueue <task_type> <description> [--workdir <dir>] [--model <id>]
                                  put a task in the queue
  tasks [--state queued|running|completed|failed] [--cursor <cursor>]
                                  list the tasks, newest first; older ones with --cursor
  cancel <task_id>                cancel a task for good
  status                          show how the queue stands
  workers [<n>]                   show or set how many tasks run at once, 0 to 64
  pause, resume                   take no more tasks from the queue; take them again
  wal [<n>]                       show the newest n steps of the queue, 50 by default`;

export const QUEUE: Record<string, Handler> = {
  enqueue: async ({ boolean, string }, [task_type, ...words]) => {
    required(task_type, "task_type");
    const description = words.join(" ");
    required(description || undefined, "description");
    const { workdir, model } = string;
    const extra = { workdir: workdir === undefined ? undefined : absolute(workdir), model };
    if (task_type === "code" && workdir === undefined) {
      throw new UsageError("a code task needs --workdir <dir>, where its agent works");
    }
    const params = { task_type, description, extra };
    const task: TaskRecord = await withDaemon((rpc) => rpc.call("queue.enqueue", params));
    if (boolean.json) return print(task);
    console.log(task.id);
    return 0;
  },
  tasks: (flags) =>
    listTasks(flags, {
      command: "svc ctl tasks",
      none: "no tasks; `svc ctl enqueue` adds one",
      ask: (params) => withDaemon((rpc) => rpc.call("queue.tasks", params)),
    }),
  cancel: async ({ boolean }, [task_id]) => {
    required(task_id, "task_id");
    const task = await withDaemon((rpc) => rpc.call("queue.cancel", { task_id }));
    if (boolean.json) return print(task);
    console.log(`cancelled ${task_id}`);
    return 0;
  },
  status: async ({ boolean }) => show(await call("queue.status"), boolean.json),
  pause: async ({ boolean }) => show(await call("queue.pause"), boolean.json),
  resume: async ({ boolean }) => show(await call("queue.resume"), boolean.json),
  workers: async ({ boolean }, [count]) => {
    const params = count === undefined ? {} : { count: wholeNumber(count, "n", 0, 64) };
    const result = await withDaemon((rpc) => rpc.call("queue.workers", params));
    if (boolean.json) return print(result);
    console.log(
      `${result.workers} ${result.workers === 1 ? "worker" : "workers"}, ${result.busy} busy`,
    );
    return 0;
  },
  wal: async ({ boolean }, [n = "50"]) => {
    const params = { n: wholeNumber(n, "n", 1, 10_000) };
    const result = await withDaemon((rpc) => rpc.call("queue.wal", params));
    if (boolean.json) return print(result);
    const entries: TaskLogEntry[] = result.entries;
    if (entries.length === 0) console.log("nothing has happened in the queue");
    else console.log(table(entries.map(walRow)));
    return 0;
  },
};

async function call(method: string): Promise<QueueStatus> {
  return await withDaemon((rpc) => rpc.call(method, {}));
}

function show(status: QueueStatus, json: boolean | undefined): number {
  if (json) return print(status);
  const { paused, workers, busy, queued, running, completed, failed } = status;
  const how = paused ? "paused: no task is taken" : workers === 0 ? "no workers" : "taking tasks";
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

function wholeNumber(text: string, name: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UsageError(`<${name}> must be a number from ${min} to ${max}, got "${text}"`);
}
