/** What is said of `svc ctl`. */
import { TASK_TYPES } from "../../features/tasks/task.ts";
import { WORKERS_MAX } from "../../features/tasks/limits.ts";
import {
  APPROVAL,
  argument,
  command,
  group,
  integer,
  JSON_FLAG,
  JSON_VALUE,
  on,
  option,
  optional,
  spec,
  suggested,
  TEXT,
  USD,
  words,
} from "../define.ts";
import { SUMMARIES } from "./summaries.ts";
import { TASK_LIST_FLAGS } from "./task_list.ts";

const session_id = argument(TEXT, "The session");
const task_id = argument(TEXT, "The task");
const json = JSON_FLAG;
const model = option(TEXT, "id", "Model as <provider>/<model>", { short: "m" });
const approval = option(APPROVAL, "mode", "What the agent may do without asking");

export const DISCOVER = spec({ summary: "Print the discovery record", flags: { json } });
export const SESSIONS_LIST = spec({
  summary: "List sessions",
  flags: { all: on("Include ended sessions"), json },
});
export const SESSIONS_GET = spec({
  summary: "Show a session as JSON",
  args: { session_id },
  flags: { json },
});
export const SESSIONS_START = spec({
  summary: "Start a session",
  args: { workdir: argument(TEXT, "Directory that the agent works in") },
  flags: {
    model,
    approval,
    prompt: option(TEXT, "text", "First message"),
    json,
  },
});
export const SESSIONS_CONFIGURE = spec({
  summary: "Change a session's model, approval mode, budget or title",
  about:
    "A running turn goes on with them: the next model call and the next tool call follow them.",
  args: { session_id },
  flags: {
    model,
    approval,
    budget: option(USD, "usd", "What the session may cost"),
    title: option(TEXT, "text", "Title in lists"),
    json,
  },
});
export const SESSIONS_KILL = spec({
  summary: "End a session permanently",
  args: { session_id },
  flags: { json },
});
export const LEDGER_VERIFY = spec({
  summary: "Check the hash chain of a session's journal",
  args: { session_id },
  flags: { json },
});
export const ENQUEUE = spec({
  summary: "Add a task to the queue",
  args: {
    task_type: argument(suggested(TASK_TYPES), "Type of the task"),
    description: words("What to do"),
  },
  flags: {
    workdir: option(TEXT, "dir", "Directory of a code task, where its agent works"),
    model,
    json,
  },
});
export const TASKS = spec({ summary: "List tasks, newest first", flags: TASK_LIST_FLAGS });
export const CANCEL = spec({
  summary: "Cancel a task permanently",
  args: { task_id },
  flags: { json },
});
export const STATUS = spec({ summary: "Show the status of the queue", flags: { json } });
export const WORKERS = spec({
  summary: "Show or set how many queued tasks run at once",
  args: { n: optional(integer(0, WORKERS_MAX), `New number, 0 to ${WORKERS_MAX}`) },
  flags: { json },
});
export const PAUSE = spec({ summary: "Stop taking tasks from the queue", flags: { json } });
export const RESUME = spec({ summary: "Start taking tasks from the queue again", flags: { json } });
export const WAL = spec({
  summary: "Show the newest steps of the queue",
  args: { n: optional(integer(1, 10_000), "Number of steps", "50") },
  flags: { json },
});
export const CALL = spec({
  summary: "Call any verb and print its result as JSON",
  args: {
    method: argument(TEXT, "The verb, such as session.send"),
    params: optional(JSON_VALUE, "Its parameters as JSON", "{}"),
  },
  flags: { json },
  examples: [["svc ctl call daemon.info", "Show the daemon's versions and models"]],
  notes: "docs/reference/verbs.md lists the verbs; so does `svc ctl call daemon.verbs`.",
});

const implementation = () => import("../ctl.ts");
const queue = () => import("../ctl_queue.ts");

export const ctl = group({ summary: SUMMARIES.ctl }, {
  discover: command(DISCOVER, async () => (await implementation()).discover),
  sessions: group({ summary: "List, start, change and end sessions" }, {
    list: command(SESSIONS_LIST, async () => (await implementation()).listSessions),
    get: command(SESSIONS_GET, async () => (await implementation()).getSession),
    start: command(SESSIONS_START, async () => (await implementation()).startSession),
    configure: command(SESSIONS_CONFIGURE, async () => (await implementation()).configureSession),
    kill: command(SESSIONS_KILL, async () => (await implementation()).killSession),
  }),
  ledger: group({ summary: "Check the journals of sessions" }, {
    verify: command(LEDGER_VERIFY, async () => (await implementation()).verifyLedger),
  }),
  enqueue: command(ENQUEUE, async () => (await queue()).enqueue),
  tasks: command(TASKS, async () => (await queue()).tasks),
  cancel: command(CANCEL, async () => (await queue()).cancel),
  status: command(STATUS, async () => (await queue()).status),
  workers: command(WORKERS, async () => (await queue()).workers),
  pause: command(PAUSE, async () => (await queue()).pause),
  resume: command(RESUME, async () => (await queue()).resume),
  wal: command(WAL, async () => (await queue()).wal),
  call: command(CALL, async () => (await implementation()).call),
});
