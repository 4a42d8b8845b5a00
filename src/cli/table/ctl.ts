import { TASK_TYPES } from "../../features/tasks/task.ts";
import { WORKERS_MAX } from "../../features/tasks/limits.ts";
import {
  APPROVAL,
  argument,
  command,
  EFFORT,
  EFFORT_OR_DEFAULT,
  group,
  integer,
  JSON_FLAG as json,
  JSON_VALUE,
  NETWORK,
  NETWORK_OR_DEFAULT,
  on,
  oneOf,
  option,
  optional,
  options,
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
const model = option(TEXT, "id", "Model as <provider>/<model>", { short: "m" });
const effort = "How long the model may think before it answers";
const network = "What commands reach: nothing, allowed hosts, or all";
const approval = option(APPROVAL, "mode", "What the agent may do without asking");

const add_dir = options(
  TEXT,
  "dir[:ro]",
  "Another directory that the agent may read and change; repeatable. DIR:ro is read-only",
);

export const DISCOVER = spec({ summary: "Print the discovery record", flags: { json } });
export const SESSIONS_LIST = spec({
  summary: "List sessions",
  flags: {
    all: on("Include ended and archived sessions"),
    archived: on("Include archived sessions"),
    json,
  },
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
    effort: option(EFFORT, "level", effort),
    network: option(NETWORK, "reach", network),
    prompt: option(TEXT, "text", "First message"),
    "add-dir": add_dir,
    json,
  },
});
export const SESSIONS_CONFIGURE = spec({
  summary: "Change a session's settings and its place in lists",
  about:
    "A running turn goes on with them: the next model call and the next tool call follow them.",
  args: { session_id },
  flags: {
    model,
    approval,
    effort: option(EFFORT_OR_DEFAULT, "level", `${effort}; from the next turn on`),
    network: option(NETWORK_OR_DEFAULT, "reach", network),
    budget: option(USD, "usd", "What the session may cost"),
    title: option(TEXT, "text", "Title in lists"),
    "add-dir": add_dir,
    "remove-dir": options(TEXT, "dir", "Added directory to remove; repeatable"),
    pin: on("Show it first in lists"),
    unpin: on("No longer show it first"),
    archive: on("Leave it out of lists until it gets another message"),
    unarchive: on("Show it in lists again"),
    json,
  },
});
export const SESSIONS_KILL = spec({
  summary: "End a session permanently",
  args: { session_id },
  flags: { json },
});
export const SESSIONS_EXPORT = spec({
  summary: "Write a session to a file",
  about:
    "json contains the journal's records and the attachments, and is signed with a key of this " +
    "machine. html is one file without scripts.",
  args: { session_id },
  flags: {
    format: option(oneOf(["markdown", "html", "json"] as const), "format", "Format", {
      default: "markdown",
    }),
    output: option(
      TEXT,
      "file",
      "File to write (default: <session>.md, .html or .json; -: print)",
      { short: "o" },
    ),
    force: on("Replace an existing file"),
    json,
  },
});
export const SESSIONS_IMPORT = spec({
  summary: "Start a session with the conversation of an exported one",
  about:
    "`svc ctl sessions export --format json` writes such a file. The new session gets the rights of " +
    "any new session, whatever the file says. Asks you if the key that signed the file is neither " +
    "this machine's nor one of --trust, and if the file is not signed.",
  args: { file: argument(TEXT, "The exported file; -: standard input") },
  flags: {
    workdir: option(TEXT, "dir", "Directory that the agent works in", { default: "." }),
    model,
    title: option(TEXT, "text", "Title in lists"),
    trust: option(
      TEXT,
      "key",
      "What `svc ledger key` prints on a machine that you trust, or a file with such keys",
    ),
    yes: on("Import it without being asked, whoever signed it"),
    json,
  },
  examples: [
    [
      "svc ctl sessions export ID --format json --output - | ssh HOST svc ctl sessions import - --yes",
      "Move a conversation to another machine",
    ],
  ],
});
export const SESSIONS_MOVE = spec({
  summary: "Have a session work in another directory, or in its own after it was renamed",
  about:
    "The journal moves with the session: it is in the directory, or is moved there. Your files are " +
    "left as they are.",
  args: {
    session_id,
    workdir: argument(TEXT, "Directory that the agent works in from now on"),
  },
  flags: { json },
});
export const SESSIONS_DELETE = spec({
  summary: "Delete a session and everything svc stores about it",
  about:
    "Ends the session first if it is running. Its journal, attachments and undo states cannot be " +
    "restored. Its forks stay, and so do memories that other sessions can use.",
  args: { session_id },
  flags: { yes: on("Do not ask"), json },
});
export const SESSIONS_SEARCH = spec({
  summary: "Search the conversations of all sessions",
  about:
    'Every word must match. "a phrase" matches words in a row, wor* matches words that begin with wor.',
  args: { query: words("Words to search for") },
  flags: {
    workdir: option(TEXT, "dir", "Only sessions in this directory"),
    tools: on("Also search tool output"),
    best: on("Best matches first instead of newest first"),
    limit: option(integer(1, 100), "n", "Number of results", { default: "20" }),
    json,
  },
});
export const SESSIONS_CONTINUE = spec({
  summary: "Continue a turn that a restart, a crash or a pause cut off",
  args: { session_id },
  flags: { json },
});
export const APPROVALS_LIST = spec({
  summary: "List the pending questions of all sessions",
  flags: { json },
});
export const APPROVALS_ANSWER = spec({
  summary: "Answer a pending question",
  about:
    "Prints the question in full first, and asks before it allows something. Without a decision it " +
    "takes the answers of a chat, also to questions of the model. A script gets the " +
    "text and its name at the first call, and gives that back with --shown at the second. The first " +
    "answer to a question counts.",
  args: {
    approval_id: argument(TEXT, "The question"),
    decision: optional(oneOf(["allow", "always", "deny"]), "What may be done; asked if absent"),
  },
  flags: {
    shown: option(TEXT, "name", "Name of the question that was read"),
    message: option(TEXT, "text", "With deny: what the model is told"),
    json,
  },
});
export const SESSIONS_CHANGES = spec({
  summary: "Show what a session changed in its directory",
  args: { session_id },
  flags: {
    turn: option(TEXT, "id", "Only the changes of this turn"),
    full: on("Up to 4 MiB of the patch instead of 64 KiB"),
    json,
  },
});
const restore_flags = {
  "dry-run": on("Change nothing, only say what would change"),
  force: on("Overwrite what somebody else changed since"),
  "force-file": options(
    TEXT,
    "path",
    "Overwrite this file, and keep the others that somebody else changed; repeatable",
  ),
  keep: on("Keep every file that somebody else changed since, and restore the rest"),
};
export const SESSIONS_REWIND = spec({
  summary: "Bring a session's files or conversation back to what they were before a message",
  about:
    "Without --message, the last changes of files are undone. With --undo, the last rewind is.",
  args: { session_id },
  flags: {
    message: option(TEXT, "id", "The message; files and conversation are as before it"),
    what: option(
      oneOf(["files", "conversation", "both"] as const),
      "what",
      "What goes back (default: files)",
    ),
    ...restore_flags,
    undo: on("Undo the last rewind"),
    json,
  },
});
export const SESSIONS_UNDO_FILE = spec({
  summary: "Bring one file, or the files that one turn changed, back to before that turn",
  about: "Without --turn and --message, the last turn that changed the file is undone for it. " +
    "`svc ctl sessions rewind --undo` undoes this too.",
  args: {
    session_id,
    path: optional(TEXT, "The file, relative to the session's directory"),
  },
  flags: {
    turn: option(TEXT, "id", "The turn; without a file, all that it changed goes back"),
    message: option(TEXT, "id", "Instead: the message that started the turn"),
    ...restore_flags,
    json,
  },
});
export const SESSIONS_FORK = spec({
  summary: "Start a session with a copy of another one's conversation",
  args: { session_id },
  flags: {
    message: option(TEXT, "id", "Copy only what was said before this message"),
    title: option(TEXT, "text", "Title in lists"),
    worktree: on("Work in a new git worktree"),
    json,
  },
});
export const LEDGER_VERIFY = spec({
  summary: "Check the hash chain of a session's journal",
  args: { session_id },
  flags: { json },
});
const server = argument(TEXT, "Name of the tool server in policy.yaml");
export const MCP_LIST = spec({
  summary: "List the tool servers and their status",
  flags: { json },
});
export const MCP_LOGIN = spec({
  summary: "Log in to a tool server in your browser",
  about:
    `For servers that require an OAuth login. svc saves the tokens in ~/.svc/mcp-logins.json, which
only you can read, and refreshes them when they expire.`,
  args: { name: server },
  flags: { print: on("Print the address instead of opening it in a browser"), json },
});
export const MCP_LOGOUT = spec({
  summary: "Remove the saved login for a tool server",
  about: "The server accepts the tokens until they expire or you revoke them there.",
  args: { name: server },
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
const approvals = () => import("../ctl_approvals.ts");
const mcp = () => import("../ctl_mcp.ts");
const transfer = () => import("../ctl_transfer.ts");
const queue = () => import("../ctl_queue.ts");

export const ctl = group({ summary: SUMMARIES.ctl }, {
  discover: command(DISCOVER, async () => (await implementation()).discover),
  sessions: group({
    summary:
      "List, search, start, change, move, continue, undo, export, import, end and delete sessions",
  }, {
    list: command(SESSIONS_LIST, async () => (await implementation()).listSessions),
    get: command(SESSIONS_GET, async () => (await implementation()).getSession),
    start: command(SESSIONS_START, async () => (await implementation()).startSession),
    configure: command(SESSIONS_CONFIGURE, async () => (await implementation()).configureSession),
    move: command(SESSIONS_MOVE, async () => (await implementation()).moveSession),
    continue: command(SESSIONS_CONTINUE, async () => (await implementation()).continueSession),
    changes: command(SESSIONS_CHANGES, async () => (await implementation()).sessionChanges),
    rewind: command(SESSIONS_REWIND, async () => (await implementation()).rewindSession),
    "undo-file": command(SESSIONS_UNDO_FILE, async () => (await implementation()).undoFile),
    fork: command(SESSIONS_FORK, async () => (await implementation()).forkSession),
    kill: command(SESSIONS_KILL, async () => (await implementation()).killSession),
    search: command(SESSIONS_SEARCH, async () => (await implementation()).searchSessions),
    export: command(SESSIONS_EXPORT, async () => (await transfer()).exportSession),
    import: command(SESSIONS_IMPORT, async () => (await transfer()).importSession),
    delete: command(SESSIONS_DELETE, async () => (await implementation()).deleteSession),
  }),
  approvals: group({ summary: "Show and answer pending questions" }, {
    list: command(APPROVALS_LIST, async () => (await approvals()).listApprovals),
    answer: command(APPROVALS_ANSWER, async () => (await approvals()).answerApproval),
  }),
  mcp: group({ summary: "List tool servers, and log in to them" }, {
    list: command(MCP_LIST, async () => (await mcp()).listServers),
    login: command(MCP_LOGIN, async () => (await mcp()).loginToServer),
    logout: command(MCP_LOGOUT, async () => (await mcp()).logoutOfServer),
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
