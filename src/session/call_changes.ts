/** What a call changes in files: as its result records it, or as its arguments say. */
import { changesOf, type FileChange } from "../base/edits/changes.ts";
import type { ToolItem } from "./view_items.ts";

export type Call = Pick<ToolItem, "tool" | "args" | "outcome">;

export interface CallChanges {
  changes: readonly FileChange[];
  /** Whether the result has them: with their lines as before the call, and within a limit. */
  recorded: boolean;
}

/** Returns what a call changes; with line numbers once its result names them. */
export function changesOfCall({ tool, args, outcome }: Call): CallChanges {
  const { ok = false, output = "", changes } = outcome ?? {};
  if (ok && changes !== undefined) return { changes, recorded: true };
  return { changes: placed(changesOf(tool, args), ok ? output : ""), recorded: false };
}

/** Adds the line numbers that the result of edit_file names, in the order of its edits. */
function placed(changes: FileChange[], output: string): FileChange[] {
  if (!output.startsWith("edited ")) return changes;
  const lines = [...output.matchAll(/(?:replaced|;) (?:\d+ times, first )?at line (\d+)/g)];
  if (lines.length !== changes.length) return changes;
  return changes.map((change, n) => ({ ...change, line: Number(lines[n][1]) }));
}
