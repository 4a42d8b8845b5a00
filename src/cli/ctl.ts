import { addedDirectoriesText } from "../protocol/added_directory.ts";
import { readDiscovery } from "../client/discovery.ts";
import { SvcError } from "../protocol/errors.ts";
import { ago } from "../base/ago.ts";
import { clockText } from "../protocol/clock_text.ts";
import { costText } from "../base/amount.ts";
import { visible, visibleLine } from "../base/visible.ts";
import type { Params, Result } from "../features/verb_types.ts";
import type { SessionItem } from "../session/session_item.ts";
import { print, withDaemon } from "./daemon_call.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { ownPaths } from "./environment.ts";
import { table } from "./table.ts";
import { firstLine } from "./task_list.ts";
import type * as spec from "./table/ctl.ts";
import { absolute, addedFrom } from "./workdir.ts";
import { named } from "./own_name.ts";

/** Runs `svc ctl discover`. */
export async function discover({ flags }: Input<typeof spec.DISCOVER>): Promise<number> {
  const { discovery: path } = ownPaths();
  const record = await readDiscovery(path);
  if (record === undefined) {
    throw new SvcError("not_found", `no daemon is running: there is no discovery file at ${path}`, {
      hint: "`svc serve` starts the daemon",
    });
  }
  if (flags.json) return print(record);
  console.log(table(Object.entries(record).map(([name, value]) => [name, String(value)])));
  return 0;
}

/** Runs `svc ctl sessions list`. */
export async function listSessions({ flags }: Input<typeof spec.SESSIONS_LIST>): Promise<number> {
  const params = { include_ended: flags.all, include_archived: flags.all || flags.archived };
  const { sessions } = await withDaemon((rpc) => rpc.call("session.list", params));
  if (flags.json) return print({ sessions });
  if (sessions.length === 0) console.log(named("no sessions; `svc chat` starts one"));
  else console.log(sessionTable(sessions));
  return 0;
}

/** Runs `svc ctl sessions get`. */
export async function getSession({ args }: Input<typeof spec.SESSIONS_GET>): Promise<number> {
  return print(await withDaemon((rpc) => rpc.call("session.get", args)));
}

/** Runs `svc ctl sessions start`. */
export async function startSession(
  { flags: { model, approval, effort, network, prompt, json, "add-dir": more }, args }: Input<
    typeof spec.SESSIONS_START
  >,
): Promise<number> {
  const workdir = absolute(args.workdir);
  const params = { workdir, model, approval, effort, network, prompt, add_dirs: addedFrom(more) };
  const started = await withDaemon((rpc) => rpc.call("session.start", params));
  if (json) return print(started);
  console.log(started.session_id);
  return 0;
}

/** Runs `svc ctl sessions configure`. */
export async function configureSession(
  { flags: { json, budget, pin, unpin, archive, unarchive, ...more }, args: { session_id } }: Input<
    typeof spec.SESSIONS_CONFIGURE
  >,
): Promise<number> {
  const pinned = either(pin, unpin, "pin");
  const archived = either(archive, unarchive, "archive");
  const { "add-dir": add, "remove-dir": remove, ...settings } = more;
  const params = {
    session_id,
    ...settings,
    budget_usd: budget,
    pinned,
    archived,
    add_dirs: addedFrom(add),
    remove_dirs: remove.length > 0 ? remove.map(absolute) : undefined,
  };
  const { changed, ...now } = await withDaemon((rpc) => rpc.call("session.configure", params));
  if (json) return print({ changed, ...now });
  const rows = Object.entries({ ...now, added_dirs: addedDirectoriesText(now.added_dirs) })
    .map(([name, value]) => [name, String(value)]);
  console.log(table(rows));
  return 0;
}

/** Returns the value of two opposite flags. @throws {UsageError} for both of them */
function either(on: boolean, off: boolean, name: string): boolean | undefined {
  if (on && off) throw new UsageError(`--${name} and --un${name} cannot be used together`);
  return on ? true : off ? false : undefined;
}

/** Runs `svc ctl sessions changes`. */
export async function sessionChanges(
  { flags: { turn, full, json }, args: { session_id } }: Input<typeof spec.SESSIONS_CHANGES>,
): Promise<number> {
  const params = { session_id, turn_id: turn, full };
  const changes = await withDaemon((rpc) => rpc.call("session.changes", params));
  if (json) return print(changes);
  const { changesText } = await import("../features/chat_commands/undo_command.ts");
  console.log(visible(changesText(changes, Infinity)));
  return 0;
}

/** Runs `svc ctl sessions rewind`. */
export async function rewindSession(
  { flags, args: { session_id } }: Input<typeof spec.SESSIONS_REWIND>,
): Promise<number> {
  const { message, what, undo, json } = flags;
  const params = { session_id, message_id: message, what, undo, ...restoreParams(flags) };
  const done = await withDaemon((rpc) => rpc.call("session.rewind", params));
  return await printRewind(done, json);
}

/** Runs `svc ctl sessions undo-file`. */
export async function undoFile(
  { flags, args: { session_id, path } }: Input<typeof spec.SESSIONS_UNDO_FILE>,
): Promise<number> {
  const { turn, message, json } = flags;
  const params = { session_id, path, turn_id: turn, message_id: message, ...restoreParams(flags) };
  const done = await withDaemon((rpc) => rpc.call("session.undo_file", params));
  return await printRewind(done, json);
}

async function printRewind(done: Result<"session.rewind">, json: boolean): Promise<number> {
  if (json) return print(done);
  const { rewindText } = await import("../features/chat_commands/undo_command.ts");
  console.log(visible(rewindText(done)));
  return 0;
}

interface RestoreFlags {
  "dry-run": boolean;
  force: boolean;
  "force-file": string[];
  keep: boolean;
}

/** @throws {UsageError} for flags that contradict each other */
function restoreParams(
  { force, keep, "force-file": files, "dry-run": dry_run }: RestoreFlags,
): { force: boolean | string[]; dry_run: boolean } {
  if (force && (keep || files.length > 0)) {
    throw new UsageError("--force overwrites all: leave out --keep and --force-file");
  }
  return { force: keep || files.length > 0 ? files : force, dry_run };
}

/** Runs `svc ctl sessions fork`. */
export async function forkSession(
  { flags: { message, title, worktree, json }, args: { session_id } }: Input<
    typeof spec.SESSIONS_FORK
  >,
): Promise<number> {
  const params = { session_id, message_id: message, title, worktree };
  const forked = await withDaemon((rpc) => rpc.call("session.fork", params));
  if (json) return print(forked);
  console.log(forked.session_id);
  return 0;
}

/** Runs `svc ctl sessions kill`. */
export async function killSession(
  { flags, args: { session_id } }: Input<typeof spec.SESSIONS_KILL>,
): Promise<number> {
  await withDaemon((rpc) => rpc.call("session.kill", { session_id }));
  if (flags.json) return print({ session_id, state: "ended" });
  console.log(`ended ${session_id}`);
  return 0;
}

/** Runs `svc ctl sessions search`. */
export async function searchSessions(
  { flags: { json, best, workdir, ...more }, args: { query } }: Input<typeof spec.SESSIONS_SEARCH>,
): Promise<number> {
  const params: Params<"session.search"> = {
    ...more,
    query,
    workdir: workdir === undefined ? undefined : absolute(workdir),
    order: best ? "best" : "newest",
  };
  const found = await withDaemon((rpc) => rpc.call("session.search", params));
  if (json) return print(found);
  const bold = Deno.stdout.isTerminal() && !Deno.noColor;
  for (const { session_id, title, seq, at, who, snippet } of found.results) {
    const text = snippet.map(({ text, match }: { text: string; match?: true }) => {
      const shown = visibleLine(text.replaceAll(/\s+/g, " "));
      return match && bold ? `\x1b[1m${shown}\x1b[22m` : shown;
    }).join("");
    console.log(`${session_id} ${seq}  ${at}  ${visibleLine(title)}\n  ${who}: ${text}`);
  }
  if (found.results.length === 0) console.log("no matches");
  if (found.pending_sessions > 0) {
    console.error(`${found.pending_sessions} sessions are not indexed yet; search again soon`);
  }
  return 0;
}

/** Runs `svc ctl sessions delete`. */
export async function deleteSession(
  { flags, args: { session_id } }: Input<typeof spec.SESSIONS_DELETE>,
): Promise<number> {
  if (!flags.yes && !Deno.stdin.isTerminal()) {
    throw new UsageError("deleting a session cannot be undone: pass --yes to delete it");
  }
  return await withDaemon(async (rpc) => {
    if (!flags.yes) {
      const { sessions } = await rpc.call("session.list", {
        include_ended: true,
        include_archived: true,
      });
      const title = sessions.find(({ id }: SessionItem) => id === session_id)?.title;
      const named = title === undefined ? session_id : `${session_id} (${visibleLine(title)})`;
      if (!confirm(`Delete ${named} permanently?`)) return 1;
    }
    await rpc.call("session.delete", { session_id });
    if (flags.json) return print({ session_id, deleted: true });
    console.log(`deleted ${session_id}`);
    return 0;
  });
}

/** Runs `svc ctl sessions move`. */
export async function moveSession(
  { flags, args: { session_id, ...args } }: Input<typeof spec.SESSIONS_MOVE>,
): Promise<number> {
  const params = { session_id, workdir: absolute(args.workdir) };
  const result = await withDaemon((rpc) => rpc.call("session.move", params));
  if (flags.json) return print({ session_id, ...result });
  const { moved, workdir, from } = result;
  console.log(
    moved
      ? `${session_id} works in ${visibleLine(workdir)}, before in ${visibleLine(from)}`
      : `${session_id} works in ${visibleLine(workdir)} already`,
  );
  return 0;
}

/** Runs `svc ctl sessions continue`. */
export async function continueSession(
  { flags, args: { session_id } }: Input<typeof spec.SESSIONS_CONTINUE>,
): Promise<number> {
  const { turn_id } = await withDaemon((rpc) => rpc.call("session.continue", { session_id }));
  if (flags.json) return print({ session_id, turn_id });
  console.log(`turn ${turn_id} of ${session_id} goes on`);
  return 0;
}

/** Runs `svc ctl ledger verify`. */
export async function verifyLedger(
  { flags, args: { session_id } }: Input<typeof spec.LEDGER_VERIFY>,
): Promise<number> {
  const result = await withDaemon((rpc) => rpc.call("ledger.verify", { session_id }));
  if (flags.json) print(result);
  else if (result.ok) {
    console.log(
      `the hash chain is intact: ${result.records} records, anchored up to seq ${result.anchored_seq}`,
    );
    console.log(`head ${result.head}`);
  } else {
    const { problem = "" } = result;
    console.error(`svc: the hash chain of ${session_id} is broken: ${visible(problem)}`);
  }
  return result.ok ? 0 : 1;
}

/** Runs `svc ctl call`. */
export async function call({ args }: Input<typeof spec.CALL>): Promise<number> {
  return print(await withDaemon((rpc) => rpc.ask(args.method, args.params)));
}

function stateText({ state, activity, parked_until }: SessionItem, now: number): string {
  if (state !== "running") return state;
  return activity === "working" && parked_until !== undefined
    ? `parked until ${clockText(new Date(parked_until), new Date(now))}`
    : activity;
}

function sessionTable(sessions: SessionItem[]): string {
  const pinned_first = sessions.toSorted((a, b) => Number(b.pinned ?? 0) - Number(a.pinned ?? 0));
  const now = Date.now();
  const rows = pinned_first.map((session) => {
    const { id, model, workdir, reason, title, last_event_at, ...spent } = session;
    return [
      id,
      stateText(session, now),
      last_event_at === "" ? "" : ago(last_event_at, now),
      model,
      costText(spent),
      firstLine(title),
      reason ? `${workdir} (${reason})` : workdir,
    ];
  });
  const head = ["SESSION", "STATE", "ACTIVE", "MODEL", "COST", "TITLE", "WORKDIR"];
  return table([head, ...rows]);
}
