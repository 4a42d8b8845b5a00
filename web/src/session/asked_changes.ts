/** What a question says that its call changes, file by file. */
import type { FileChange } from "../../../src/base/edits/changes.ts";
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
    lines: parts.flatMap(({ before = "", after }, n) => [
      ...n > 0 ? [{ kind: "gap", text: "unchanged lines" } as const] : [],
      ...diffOf(exact(before), exact(after)),
    ]),
  }));
}

/** The reason of the question says where a file is replaced. */
function noteOf(parts: readonly FileChange[]): string | undefined {
  if (parts.some(({ deleted }) => deleted)) return "Deleted";
  if (parts.every(({ before }) => before === undefined)) return "New file";
  const same = parts.every(({ before, after }) => before === after);
  return same ? "The file has this content already" : undefined;
}
