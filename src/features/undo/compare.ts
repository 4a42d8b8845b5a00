/** Compares the files now with the state that a rewind restores. */
import type { FileTurn, Rewound, UndoState } from "../../session/session_state.ts";
import type { Target } from "../../session/undo_history.ts";
import type { FileDifference } from "./file_state.ts";
import type { FileStore } from "./store.ts";

export interface Comparison {
  differences: FileDifference[];
  /** Paths of files that somebody changed since. */
  foreign: ReadonlySet<string>;
}

export interface Now {
  store: FileStore;
  /** The current state. */
  from: string;
  signal: AbortSignal;
}

/**
 * Returns what differs, and which of these files others changed: between turns, in a turn that was
 * cut off, or after the last turn.
 */
export async function compareWith(
  undo: UndoState,
  { target, state, undo_of }: { target: Target; state: string; undo_of?: Rewound },
  now: Now,
): Promise<Comparison> {
  const { store, from, signal } = now;
  const differences = await store.differences(from, state, signal);
  if (differences.length === 0) return { differences, foreign: new Set() };
  const recorded = undo_of === undefined ? recordedAfter(undo, target.seq) : [];
  const gaps: [string, string][] = [];
  for (let n = 1; n < recorded.length; n++) {
    gaps.push([recorded[n - 1].after, recorded[n].before]);
  }
  const last = undo.last!;
  gaps.push([recorded.at(-1)?.after ?? last, last], [last, from]);
  return { differences, foreign: await changedIn(gaps, now) };
}

/** Returns the state after a turn; for one that was cut off, the next known state. */
export function endOf(turn: FileTurn, { turns, last }: UndoState): string {
  return turn.after ?? turns[turns.indexOf(turn) + 1]?.before ?? last!;
}

/** Turns and rewinds with their states, oldest first. */
function recordedAfter({ turns, rewinds }: UndoState, from_seq: number) {
  return [
    ...turns.map(({ seq, before, after }) => ({ seq, before, after: after ?? before })),
    // An undone rewind has changed nothing.
    ...rewinds.flatMap(({ seq, files, undone }) =>
      files === undefined || undone ? [] : [{ seq, before: files.from, after: files.to }]
    ),
  ].filter(({ seq }) => seq > from_seq).sort((one, other) => one.seq - other.seq);
}

async function changedIn(
  gaps: readonly [before: string, after: string][],
  { store, signal }: Now,
): Promise<Set<string>> {
  const changed = new Set<string>();
  for (const [before, after] of gaps) {
    for (const { path } of await store.differences(before, after, signal)) changed.add(path);
  }
  return changed;
}
