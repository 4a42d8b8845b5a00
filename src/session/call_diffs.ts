/** What a call has changed in files, as rows for terminals. */
import type { FileChange } from "../base/edits/changes.ts";
import { visible } from "../base/visible.ts";
import { type Call, type CallChanges, changesOfCall } from "./call_changes.ts";
import { type FileDiff, fileDiffs } from "./diff_rows.ts";

/** Unchanged lines around a change. */
const CONTEXT = 3;
/** Longer changes, in characters, are shown cut. */
const CHANGES_MAX = 64 * 1024;

/** Returns what a call changes, each part within a limit. */
export function callChanges(call: Call): CallChanges {
  const { changes, recorded } = changesOfCall(call);
  return { changes: recorded ? changes : changes.map(shortened), recorded };
}

/** Returns the files that a call changes, with nothing hidden in their lines. */
export function callDiffs(call: Call): FileDiff[] {
  return diffsOf(callChanges(call), visible);
}

/** Returns the files of a call's changes. @param shown makes everything in a text visible */
export function diffsOf(
  { changes, recorded }: CallChanges,
  shown: (text: string) => string,
): FileDiff[] {
  const rest = "the rest of the changes is not shown";
  return fileDiffs(changes, { shown, context: CONTEXT, in_turn: !recorded, rest });
}

function shortened(change: FileChange): FileChange {
  const cut = (text: string) =>
    text.length > CHANGES_MAX ? `${text.slice(0, CHANGES_MAX).toWellFormed()}…\n` : text;
  const { before, after } = change;
  return { ...change, after: cut(after), ...before !== undefined && { before: cut(before) } };
}
