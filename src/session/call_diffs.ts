/** What a call has changed in files, as rows for terminals. */
import { changesOf, type FileChange } from "../base/edits/changes.ts";
import { visible } from "../base/visible.ts";
import { type FileDiff, fileDiffs } from "./diff_rows.ts";
import type { ToolItem } from "./view_items.ts";

type Call = Pick<ToolItem, "tool" | "args" | "outcome">;

/** Unchanged lines around a change. */
const CONTEXT = 3;
/** Longer changes, in characters, are shown cut. */
const CHANGES_MAX = 64 * 1024;

/** Returns what a call changes; with line numbers once its result names them. */
export function callChanges({ tool, args, outcome }: Call): FileChange[] {
  return placed(changesOf(tool, args).map(shortened), outcome?.ok ? outcome.output : "");
}

/** Returns the files that a call changes, with nothing hidden in their lines. */
export function callDiffs(call: Call): FileDiff[] {
  return fileDiffs(callChanges(call), { shown: visible, context: CONTEXT, in_turn: true });
}

function shortened(change: FileChange): FileChange {
  const cut = (text: string) =>
    text.length > CHANGES_MAX ? `${text.slice(0, CHANGES_MAX).toWellFormed()}…\n` : text;
  const { before, after } = change;
  return { ...change, after: cut(after), ...before !== undefined && { before: cut(before) } };
}

/** Adds the line numbers that the result of edit_file names, in the order of its edits. */
function placed(changes: FileChange[], output: string): FileChange[] {
  if (!output.startsWith("edited ")) return changes;
  const lines = [...output.matchAll(/(?:replaced|;) (?:\d+ times, first )?at line (\d+)/g)];
  if (lines.length !== changes.length) return changes;
  return changes.map((change, n) => ({ ...change, line: Number(lines[n][1]) }));
}
