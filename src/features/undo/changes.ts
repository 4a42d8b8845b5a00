/** The changes of a session's turns in its directory. */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import { endOf } from "./compare.ts";
import { type Exclusion, type FileDifference, isDirectory } from "./file_state.ts";
import type { Lines } from "./git_output.ts";
import type { FileStore } from "./store.ts";
import type { Undo } from "./undo.ts";
import type { changedFileSchema, changesSchema } from "../../protocol/schemas/changes.ts";

type ChangedFile = z.output<ReturnType<typeof changedFileSchema>>;

type Counts = Pick<Changes, "files_changed" | "added" | "deleted">;

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
  const named = turn_id === undefined ? undefined : turns.find((it) => it.turn_id === turn_id);
  if (turn_id !== undefined && named === undefined) {
    throw new SvcError("not_found", `session ${session.id} has no changes of turn ${turn_id}`);
  }
  if (turns.length === 0 || last === undefined) {
    return { ...EMPTY, turns: [], files: [], excluded: [], others: [], problem };
  }
  return await undo.withStore(session, async (store) => {
    const { state: now, excluded } = await store.take(signal);
    const shown = turns.slice(-TURNS_MAX);
    const pairs = shown.map((
      turn,
    ): [string, string] => [turn.before, endOf(turn, session.state.undo)]);
    const first = turns.find(({ undone_by }) => undone_by === undefined);
    const [from, to] = named !== undefined
      ? [named.before, endOf(named, session.state.undo)]
      : [first?.before ?? last, last];
    const lines = await store.lines([...pairs, [from, to]], signal);
    const differences = filesOf(await store.differences(from, to, signal));
    const max_bytes = full ? FULL_PATCH_BYTES : PATCH_BYTES;
    const { patch, truncated } = await store.patch(from, to, { max_bytes, signal });
    const others = filesOf(await store.differences(last, now, signal));
    const of = lines.at(-1)!;
    return {
      turns: shown.map((turn, n) => ({
        turn_id: turn.turn_id,
        message_id: turn.message_id,
        at: turn.at,
        undone: turn.undone_by !== undefined,
        cut_off: turn.after === undefined && session.state.turn?.turn_id !== turn.turn_id,
        ...countsOf(lines[n]),
      })),
      files: differences.slice(0, FILES_MAX).map((it) => changedFile(it, of)),
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

const EMPTY = { files_changed: 0, added: 0, deleted: 0, patch: "", truncated: false };

function filesOf(differences: readonly FileDifference[]): FileDifference[] {
  return differences.filter((it) => !isDirectory(it));
}

function countsOf(lines: Lines): Counts {
  const sum = (name: "added" | "deleted") =>
    [...lines.values()].reduce((total, counts) => total + (counts?.[name] ?? 0), 0);
  return { files_changed: lines.size, added: sum("added"), deleted: sum("deleted") };
}

function changedFile({ path, from, to }: FileDifference, lines: Lines): ChangedFile {
  const change = from === undefined
    ? "added"
    : to === undefined
    ? "deleted"
    : from.object === to.object
    ? "mode"
    : "changed";
  return { path, change, ...lines.get(path) };
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
