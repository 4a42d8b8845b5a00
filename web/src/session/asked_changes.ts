/** What a call changes, file by file, as its question and its card show it. */
import { type FileChange, REST_NOT_SHOWN, staysSame } from "../../../src/base/edits/changes.ts";
import { exact, exactLine } from "../../../src/base/visible.ts";
import { type DiffLine, diffOf } from "./diff.ts";

export interface AskedDiffProps {
  args: unknown;
  changes: readonly FileChange[];
  /** Called once all of it is drawn. */
  onWhole?(): void;
}

/** A file, with nothing hidden in its texts. */
export interface AskedFile {
  path: string;
  /** What becomes of it, unless it is only changed. */
  note?: string;
  lines: DiffLine[];
}

/** The files that a call changes, in the order of the question. */
export function askedFiles(changes: readonly FileChange[]): AskedFile[] {
  return [...Map.groupBy(changes, ({ path }) => path)].map(([path, parts]) => ({
    path: exactLine(path),
    note: noteOf(parts),
    lines: linesOf(parts, exact),
  }));
}

/**
 * The lines of a file that differ, part after part.
 *
 * @param shown makes everything in a text visible
 */
export function linesOf(
  parts: readonly FileChange[],
  shown = (text: string) => text,
  in_turn = false,
): DiffLine[] {
  const lines: DiffLine[] = [];
  /** How many lines the parts before have added. */
  let shift = 0;
  for (const { before, after, deleted, line } of parts) {
    if (lines.length > 0) lines.push({ kind: "gap", text: "unchanged lines" });
    const whole = after.replace(REST_NOT_SHOWN, "");
    const first = before === undefined ? 1 : line;
    const known = first !== undefined && !deleted;
    const found = diffOf(
      shown(before ?? ""),
      shown(whole),
      known ? [first, first + shift] : undefined,
    );
    for (const { kind } of found) {
      if (!in_turn) shift += Number(kind === "insert") - Number(kind === "delete");
    }
    lines.push(...found);
    if (whole !== after) lines.push({ kind: "gap", text: "the rest of the changes is not shown" });
  }
  return lines;
}

/** The reason of the question says where a file is replaced. */
function noteOf(parts: readonly FileChange[]): string | undefined {
  if (parts.some(({ deleted }) => deleted)) return "Deleted";
  if (parts.some(({ replaced }) => replaced)) return "Replaces a file that cannot be shown";
  if (parts.every(({ before }) => before === undefined)) return "New file";
  if (parts.every(staysSame)) return "The file has this content already";
  const same = parts.every(({ before, after }) => before === after);
  return same ? "Only the end of its last line changes" : undefined;
}
