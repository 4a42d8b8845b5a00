/** Brings one file, or the files of one turn, back to before that turn. */
import { SvcError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import type { FileTurn, UndoState } from "../../session/session_state.ts";
import { type Comparison, endOf, type Now } from "./compare.ts";
import type { FileDifference, KeptFile } from "./file_state.ts";
import { type FilePlan, nothing, type RestoreOptions } from "./plan.ts";
import type { FileStore } from "./store.ts";

export interface UndoFileOptions extends RestoreOptions {
  path?: string;
  turn_id?: string;
  message_id?: string;
}

/** @throws {SvcError} validation without a file and a turn; not_found */
export async function filePlan(
  session: Session,
  store: FileStore,
  options: UndoFileOptions,
): Promise<FilePlan> {
  const { turn_id, message_id } = options;
  const { undo } = session.state;
  const path = options.path && relative(options.path, session.state.workdir);
  const by_name = turn_id !== undefined || message_id !== undefined;
  if (path === undefined && !by_name) {
    throw new SvcError("validation", "neither a file nor a turn is named", {
      hint: "session.changes lists the files and the turns",
    });
  }
  const turn = by_name
    ? namedTurn(session, options)
    : await lastTurnWith(path!, undo, store) ?? lacks(session, `no change of ${path} to undo`);
  return {
    target: { message_id: turn.message_id, seq: seqOf(session, turn, path) },
    files: true,
    only: { turn_id: turn.turn_id, path },
    compare: (now) => compareTurn(session, turn, path, now),
  };
}

/** A turn that was undone as a whole, and is the last one, counts as undone by a rewind. */
function seqOf(session: Session, turn: FileTurn, path: string | undefined): number {
  const last = session.state.undo.turns.findLast(({ undone_by }) => undone_by === undefined);
  return path === undefined && last === turn ? turn.seq - 1 : session.state.last_seq;
}

function relative(path: string, workdir: string): string {
  const below = path.startsWith(`${workdir}/`) ? path.slice(workdir.length + 1) : path;
  return below.replace(/^(\.\/+)+/, "");
}

function namedTurn(session: Session, { turn_id, message_id }: UndoFileOptions): FileTurn {
  const { turns } = session.state.undo;
  const found = turns.findLast((it) =>
    (turn_id === undefined || it.turn_id === turn_id) &&
    (message_id === undefined || it.message_id === message_id)
  );
  const what = turn_id === undefined ? `message ${message_id}` : `turn ${turn_id}`;
  if (found === undefined) return lacks(session, `no changes of ${what}`);
  if (found.undone_by !== undefined) return lacks(session, `undone the changes of ${what} already`);
  return found;
}

function lacks(session: Session, what: string): never {
  if (session.state.undo.problem !== undefined) throw nothing(session, "files");
  throw new SvcError("not_found", `session ${session.id} has ${what}`, {
    hint: "session.changes lists the files and the turns",
  });
}

/** Returns the last turn that changed a file and was not undone for it. */
async function lastTurnWith(
  path: string,
  undo: UndoState,
  store: FileStore,
): Promise<FileTurn | undefined> {
  const { turns, rewinds } = undo;
  const signal = new AbortController().signal;
  const change = async (before: string, after: string) =>
    (await store.differences(before, after, signal)).find((it) => it.path === path);
  const of_turns = new Set(turns.map(({ undone_by }) => undone_by));
  const steps = [
    ...turns.filter(({ undone_by }) => undone_by === undefined)
      .map((turn) => ({ seq: turn.seq, turn, before: turn.before, after: endOf(turn, undo) })),
    ...rewinds.filter(({ rewind_id, undone }) => !undone && !of_turns.has(rewind_id))
      .flatMap(({ seq, files }) =>
        files === undefined ? [] : [{ seq, turn: undefined, before: files.from, after: files.to }]
      ),
  ].sort((one, other) => other.seq - one.seq);
  /** What the file became when turns before were undone for it alone. */
  const undone: (KeptFile | undefined)[] = [];
  for (const { turn, before, after } of steps) {
    const found = await change(before, after);
    if (found === undefined) continue;
    if (turn === undefined) undone.push(found.to);
    else if (undone.length > 0 && isSame(undone.at(-1), found.from)) undone.pop();
    else return turn;
  }
  return undefined;
}

function isSame(one: KeptFile | undefined, other: KeptFile | undefined): boolean {
  return one?.object === other?.object && one?.link === other?.link && one?.mode === other?.mode;
}

/** Returns the files of a turn that are not as before it, and those not as after it. */
async function compareTurn(
  session: Session,
  turn: FileTurn,
  path: string | undefined,
  { store, from, signal }: Now,
): Promise<Comparison> {
  const { undo } = session.state;
  const after = endOf(turn, undo);
  const isMeant = (it: FileDifference) => path === undefined || it.path === path;
  const changed = (await store.differences(turn.before, after, signal)).filter(isMeant);
  if (changed.length === 0) {
    return lacks(
      session,
      path === undefined ? "no changes in that turn" : `not changed ${path} in that turn`,
    );
  }
  const paths = new Set(changed.map((it) => it.path));
  const differences = (await store.differences(from, turn.before, signal))
    .filter((it) => paths.has(it.path));
  // Others may have made changes of a turn that was cut off.
  const foreign = turn.after === undefined
    ? paths
    : new Set((await store.differences(after, from, signal)).map((it) => it.path));
  return { differences, foreign };
}
