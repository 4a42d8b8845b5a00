import { EFFORTS, TASK_TYPES } from "../../features/tasks/task.ts";
import { WORKERS_MAX } from "../../features/tasks/limits.ts";
import {
  argument,
  command,
  DURATION,
  group,
  integer,
  JSON_FLAG as json,
  JSON_OBJECT,
  on,
  oneOf,
  option,
  spec,
  suggested,
  TEXT,
  words,
} from "../define.ts";
import { TASK_LIST_FLAGS } from "./task_list.ts";
import { CAPS } from "./serve_spec.ts";
import { SUMMARIES } from "./summaries.ts";

const task_id = argument(TEXT, "The task");
export const TASK_RUN = spec({
  summary: "Run a task and wait until it has finished",
  about: "Starts the daemon if none is running.",
  args: {
    type: argument(suggested(TASK_TYPES), "Type of the task"),
    words: words("What to do"),
  },
  flags: {
    effort: option(oneOf(EFFORTS), "effort", "How thoroughly to work", { default: "standard" }),
    extra: option(
      JSON_OBJECT,
      "json",
      'Options of the executor, such as \'{"expected_text": "Welcome"}\'',
      { default: "{}" },
    ),
    workdir: option(TEXT, "dir", "Directory of a code task; sets extra.workdir"),
    url: option(
      TEXT,
      "url",
      "Address for a browser or research task; sets extra.url or extra.urls",
    ),
    model: option(TEXT, "id", "Model as <provider>/<model>; sets extra.model", { short: "m" }),
    timeout: option(DURATION, "time", "Time limit, such as 90s or 10m", { default: "10m" }),
    json,
  },
  examples: [
    ["svc task run research when was the first bridge over the Rhine built", "Answer with sources"],
    ["svc task run code --workdir . fix the failing test", "Change a project and check the result"],
  ],
  notes: "Exits with 0 if the task is completed, otherwise with 1.",
});
export const TASK_LIST = spec({ summary: "List tasks, newest first", flags: TASK_LIST_FLAGS });
export const TASK_GET = spec({ summary: "Show a task", args: { task_id }, flags: { json } });
export const TASK_CANCEL = spec({
  summary: "Cancel a task permanently",
  args: { task_id },
  flags: { json },
});
export const TASK_WORKER = spec({
  summary: "Run the tasks that daemons put on a Restate server",
  about: `Runs tasks of daemons on this or other machines that keep their tasks on Restate
([tasks] engine = "restate"). The Restate server calls the worker, so it must reach its address.
Ctrl-C lets the running tasks finish, or hands them over to other workers.`,
  flags: {
    listen: option(TEXT, "host:port", "Address to listen on for the Restate server", {
      default: "127.0.0.1:9080",
    }),
    register: on("Register this worker with the Restate server; new tasks then go to it"),
    force: on("With --register, replace what an older version has registered at this address"),
    workers: option(
      integer(1, WORKERS_MAX),
      "n",
      `Number of queued tasks to run at once, 1 to ${WORKERS_MAX}; by default, [tasks] workers`,
    ),
    caps: option(CAPS, "types", "Task types to run, comma-separated", {
      default: TASK_TYPES.join(","),
    }),
    health: option(TEXT, "host:port", "Address that answers GET /health over HTTP/1.1"),
    insecure: on("Listen on a network address although restate_public_keys is empty"),
    "allow-private": on("Let hired tasks reach loopback and private addresses"),
    json: on("Print events as NDJSON, one per line"),
  },
});

export const TASK_REGISTER = spec({
  summary: "Register workers with the Restate server; new tasks then go to them",
  about:
    `For workers behind a balancer or with another address than that of --listen. The server asks
the workers at the address which task types they run.`,
  args: { url: argument(TEXT, "Address at which the server reaches the workers") },
  flags: {
    force: on("Replace what an older version has registered at the same address"),
    json,
  },
  examples: [
    ["svc task register https://workers.example.org", "Workers behind a balancer with TLS"],
  ],
});

const implementation = () => import("../task.ts");

export const task = group({ summary: SUMMARIES.task }, {
  run: command(TASK_RUN, async () => (await implementation()).runTask),
  list: command(TASK_LIST, async () => (await implementation()).list),
  get: command(TASK_GET, async () => (await implementation()).get),
  cancel: command(TASK_CANCEL, async () => (await implementation()).cancel),
  worker: command(TASK_WORKER, async () => (await import("../task_worker.ts")).runWorker),
  register: command(
    TASK_REGISTER,
    async () => (await import("../task_register.ts")).registerWorkers,
  ),
});
