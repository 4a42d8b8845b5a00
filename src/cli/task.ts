/** `svc task`: tasks run by the daemon's executors, without any network surface. */
import { join } from "@std/path";
import { connectOrStart } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { parseDuration } from "../base/duration.ts";
import { nearestOf } from "../base/nearest.ts";
import { EFFORTS, TASK_TYPES, type TaskRecord } from "../features/tasks/task.ts";
import { type Flags, parseFlags, UsageError } from "./args.ts";
import { type Handler, print, required } from "./daemon_call.ts";
import { ownPaths } from "./environment.ts";
import { table } from "./table.ts";
import { listTasks } from "./task_list.ts";
import { absolute } from "./workdir.ts";
import { visible } from "../base/visible.ts";

const HELP = `Runs tasks with the daemon's executors and shows what came of them.

Usage: svc task run <type> <words …> [--effort <effort>] [--extra <json>] [--workdir <dir>]
                    [--url <url>] [--model <id>] [--timeout <time>] [--json]
       svc task list [--state queued|running|completed|failed] [--cursor <cursor>] [--json]
       svc task get <task_id> [--json]
       svc task cancel <task_id> [--json]
       svc task worker [--workers <n>] [--caps <types>] [--allow-private] [--json]

  <type>              ${TASK_TYPES.join(", ")}
  --effort <effort>   ${EFFORTS.join(", ")}; standard by default
  --extra <json>      options of the executor, such as '{"expected_text": "Welcome"}'
  --workdir <dir>     for extra.workdir: where a code task works
  --url <url>         for extra.url of a browser task, extra.urls of a research task
  --model <id>        for extra.model
  --timeout <time>    how long it may take, such as 90s or 10m; 10m by default
  --cursor <cursor>   the next page, as the one before names it
  --json              machine-readable output

\`svc task run\` waits for the end; the exit code is 0 for a task that is completed, else 1. It
starts the daemon when none runs.

\`svc task worker\` runs what daemons on this or other machines take, where tasks are kept on NATS
([tasks] engine = "nats"). It listens nowhere. Ctrl-C lets its tasks finish, or hands them over.

  --workers <n>       tasks of the queue that it runs at once, 1 to 64
  --caps <types>      the types of tasks it runs, comma-separated; all by default
  --allow-private     let hired tasks reach loopback and private addresses`;

const ACTIONS: Record<string, Handler> = { run: runTask, list, get, cancel, worker };

/** Runs `svc task`. */
export async function run(argv: string[]): Promise<number> {
  const flags = parseFlags(argv, {
    boolean: ["json", "allow-private"],
    string: [
      "workers",
      "caps",
      "effort",
      "extra",
      "workdir",
      "url",
      "model",
      "timeout",
      "state",
      "cursor",
    ],
  });
  if (flags.boolean.help) {
    console.log(HELP);
    return 0;
  }
  const [name, ...args] = flags.rest;
  const action = ACTIONS[name];
  if (action !== undefined) return await action(flags, args);
  const nearest = nearestOf(name ?? "", Object.keys(ACTIONS));
  const hint = nearest ? `did you mean "${nearest}"?` : "see svc task --help";
  throw new UsageError(`svc task has no command "${name ?? ""}"; ${hint}`);
}

async function runTask(flags: Flags, [task_type, ...words]: string[]): Promise<number> {
  required(task_type, "type");
  const description = words.join(" ");
  required(description || undefined, "words");
  const { effort, timeout = "10m" } = flags.string;
  const timeout_ms = parseDuration(timeout);
  if (timeout_ms === undefined) {
    throw new UsageError(`--timeout takes a duration such as 90s or 10m, got "${timeout}"`);
  }
  const params = { task_type, description, effort, timeout_ms, extra: extraOf(task_type, flags) };
  const task: TaskRecord = await withOwnDaemon((rpc) => rpc.call("task.run", params));
  if (flags.boolean.json) print(task);
  else show(task);
  return task.status === "completed" ? 0 : 1;
}

function extraOf(task_type: string, { string }: Flags): Record<string, unknown> {
  const { extra = "{}", workdir, url, model } = string;
  let given: unknown;
  try {
    given = JSON.parse(extra);
  } catch {
    throw new UsageError(`--extra takes a JSON object, got ${extra}`);
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new UsageError(`--extra takes a JSON object, got ${extra}`);
  }
  return {
    ...(workdir === undefined ? {} : { workdir: absolute(workdir) }),
    ...(url === undefined ? {} : task_type === "research" ? { urls: [url] } : { url }),
    ...(model === undefined ? {} : { model }),
    ...given,
  };
}

function list(flags: Flags): Promise<number> {
  return listTasks(flags, {
    command: "svc task list",
    none: "no tasks; `svc task run` runs one",
    ask: (params) => withOwnDaemon((rpc) => rpc.call("task.list", params)),
  });
}

async function get({ boolean }: Flags, [task_id]: string[]): Promise<number> {
  required(task_id, "task_id");
  const task: TaskRecord = await withOwnDaemon((rpc) => rpc.call("task.get", { task_id }));
  if (boolean.json) return print(task);
  show(task);
  return 0;
}

async function cancel({ boolean }: Flags, [task_id]: string[]): Promise<number> {
  required(task_id, "task_id");
  const task = await withOwnDaemon((rpc) => rpc.call("task.cancel", { task_id }));
  if (boolean.json) return print(task);
  console.log(`cancelled ${task_id}`);
  return 0;
}

async function worker(flags: Flags): Promise<number> {
  const { runWorker } = await import("./task_worker.ts");
  return await runWorker(flags);
}

function show({ summary, verification = [], artifacts = [], ...task }: TaskRecord): void {
  const { id, status, task_type, error } = task;
  console.log(table([
    ["task", id],
    ["type", task_type],
    ["state", status],
    ...(error === undefined ? [] : [["error", error]]),
    ...verification.map(({ passed, criterion }) => [passed ? "met" : "NOT MET", criterion]),
    ...artifacts.map(({ name }) => ["artifact", join(ownPaths().artifacts, id, name)]),
  ]));
  if (summary !== undefined) console.log(`\n${visible(summary)}`);
}

/** Uses the running daemon, or one that is started for it. */
async function withOwnDaemon<T>(use: (rpc: RpcClient) => Promise<T>): Promise<T> {
  const rpc = await connectOrStart(ownPaths(), () => console.error("starting the daemon …"));
  try {
    return await use(rpc);
  } finally {
    rpc.close();
  }
}
