/** The changes of a session's turns in its directory. */
import type * as z from "zod";
import { isBinaryPatch, parseHunks } from "../../base/edits/hunks.ts";
import { changedText, TEXT_BYTES } from "../../base/edits/changed_text.ts";
import type { Renamed } from "../../base/edits/renames.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { FileTurn } from "../../session/session_state.ts";
import type { Session } from "../../session/session.ts";
import { endOf } from "./compare.ts";
import { type Exclusion, type FileDifference, isDirectory } from "./file_state.ts";
import type { Lines } from "./git_output.ts";
import type { FileStore } from "./store.ts";
import type { Undo } from "./undo.ts";
import type {
  changedFileSchema,
  changedTextSchema,
  changesSchema,
} from "../../protocol/schemas/changes.ts";

type ChangedFile = z.output<ReturnType<typeof changedFileSchema>>;

type Counts = Pick<Changes, "files_changed" | "added" | "deleted">;

type ChangedText = z.output<ReturnType<typeof changedTextSchema>>;

export type Changes = z.output<ReturnType<typeof changesSchema>>;

/** In bytes, without and with `full`. */
const PATCH_BYTES = 64 * 1024;
const FULL_PATCH_BYTES = 4 * 1024 * 1024;
const FILES_MAX = 1_000;
const TURNS_MAX = 100;
const EXCLUDED_MAX = 200;

/**
 * Compares the states before and after turns.
 * @param options.turn_id limits files and patch to a turn; default: all turns that were not undone
 * @throws {SvcError} not_found for an unknown turn; unavailable without git
 */
export async function changesOf(
  undo: Undo,
  session: Session,
  { turn_id, full, signal }: { turn_id?: string; full: boolean; signal: AbortSignal },
): Promise<Changes> {
  const { turns, problem, last } = session.state.undo;
  const named = turnOf(session, turn_id);
  if (turns.length === 0 || last === undefined) {
    return { ...EMPTY, turns: [], files: [], excluded: [], others: [], problem };
  }
  return await undo.withStore(session, async (store) => {
    const { state: now, excluded } = await store.take(signal);
    const shown = turns.slice(-TURNS_MAX);
    const pairs = shown.map((turn) => spanOf(session, now, turn));
    const [from, to] = spanOf(session, now, named);
    const lines = await store.lines([...pairs, [from, to]], signal);
    const differences = filesOf(await store.differences(from, to, signal));
    const max_bytes = full ? FULL_PATCH_BYTES : PATCH_BYTES;
    const { patch, truncated } = await store.patch(from, to, { max_bytes, signal });
    const others = isWorking(session)
      ? []
      : filesOf(await store.differences(session.state.undo.last!, now, signal));
    const of = lines.at(-1)!;
    const renames = differences.some((it) => it.from === undefined)
      ? await store.renames(from, to, signal)
      : new Map<string, Renamed>();
    return {
      turns: shown.map((turn, n) => ({
        turn_id: turn.turn_id,
        message_id: turn.message_id,
        at: turn.at,
        undone: turn.undone_by !== undefined,
        cut_off: turn.after === undefined && session.state.turn?.turn_id !== turn.turn_id,
        ...countsOf(lines[n]),
      })),
      files: differences.slice(0, FILES_MAX).map((it) => changedFile(it, of, renames)),
      ...countsOf(of),
      files_changed: differences.length,
      patch,
      truncated: truncated || differences.length > FILES_MAX,
      others: others.slice(0, FILES_MAX).map(({ path }) => path),
      excluded: await withIgnored(store, excluded, signal),
      problem,
    };
  });
}

/**
 * Returns the states before and after a turn, or before and after all that were not undone. What a
 * running turn has written so far belongs to it.
 */
function spanOf(
  session: Session,
  now: string,
  turn?: FileTurn,
): [from: string, to: string] {
  const { turns, last } = session.state.undo;
  const first = turn ?? turns.find(({ undone_by }) => undone_by === undefined);
  const runs = isWorking(session) && (turn === undefined || turn === turns.at(-1));
  if (first === undefined) return [last!, last!];
  const end = turn === undefined ? last! : endOf(turn, session.state.undo);
  return [first.before, runs ? now : end];
}

/** Whether a turn runs that has begun to write. */
function isWorking({ state: { turn, undo } }: Session): boolean {
  return turn !== undefined && undo.turns.at(-1)?.turn_id === turn.turn_id;
}

/**
 * Returns what turns changed in one file.
 * @param options.renamed_from the path before, if the file was renamed
 * @throws {SvcError} not_found for an unknown turn; unavailable without git
 */
export async function changedTextOf(
  undo: Undo,
  session: Session,
  { turn_id, path, renamed_from, signal }: {
    turn_id?: string;
    path: string;
    renamed_from?: string;
    signal: AbortSignal;
  },
): Promise<ChangedText> {
  const named = turnOf(session, turn_id);
  if (session.state.undo.last === undefined) return GONE;
  return await undo.withStore(session, async (store) => {
    const { state: now } = await store.take(signal);
    const paths = renamed_from === undefined ? [path] : [path, renamed_from];
    const span = spanOf(session, now, named);
    const max_bytes = 2 * TEXT_BYTES;
    const found = await store.fileDifference(span, paths, { max_bytes, signal });
    const file = found.differences.find((it) => it.path === path);
    if (file === undefined) return GONE;
    const cut = found.patch.length >= max_bytes;
    const hunks = cut ? [] : parseHunks(found.patch);
    if (file.to === undefined) {
      const is_binary = hunks.length === 0 && isBinaryPatch(found.patch);
      return { kind: cut ? "too_large" : is_binary ? "binary" : "text", text: "", hunks };
    }
    let content = new Uint8Array();
    await store.read([file.to.object], (it) => content = it, signal);
    return changedText(content, hunks, { link: file.to.link, cut });
  });
}

const GONE: ChangedText = { kind: "gone", text: "", hunks: [] };

/** @throws {SvcError} not_found */
function turnOf({ id, state: { undo } }: Session, turn_id?: string): FileTurn | undefined {
  const named = undo.turns.find((it) => it.turn_id === turn_id);
  if (turn_id === undefined || named !== undefined) return named;
  throw new SvcError("not_found", `session ${id} has no changes of turn ${turn_id}`);
}

const EMPTY = { files_changed: 0, added: 0, deleted: 0, patch: "", truncated: false };

function filesOf(differences: readonly FileDifference[]): FileDifference[] {
  return differences.filter((it) => !isDirectory(it));
}

function countsOf(lines: Lines): Counts {
  const sum = (name: "added" | "deleted") =>
    [...lines.values()].reduce((total, counts) => total + (counts?.[name] ?? 0), 0);
  return { files_changed: lines.size, added: sum("added"), deleted: sum("deleted") };
}

function changedFile(
  { path, from, to }: FileDifference,
  lines: Lines,
  renames: ReadonlyMap<string, Renamed>,
): ChangedFile {
  const change = from === undefined
    ? "added"
    : to === undefined
    ? "deleted"
    : from.object === to.object
    ? "mode"
    : "changed";
  const { from: renamed_from, ...counts } = renames.get(path) ?? {};
  const lines_of = renamed_from === undefined ? lines.get(path) : counts;
  return { path, change, renamed_from, ...lines_of, version: to?.object };
}

async function withIgnored(
  store: FileStore,
  excluded: readonly Exclusion[],
  signal: AbortSignal,
): Promise<Exclusion[]> {
  const ignored = await store.ignored(EXCLUDED_MAX, signal);
  return [...excluded, ...ignored.map((path) => ({ path, reason: "ignored" as const }))]
    .slice(0, EXCLUDED_MAX);
}
