import { structuredPatch } from "diff";
import { type FileChange, REST_NOT_SHOWN } from "../base/edits/changes.ts";

/** The most characters of changes in a question. */
const SHOWN_MAX = 64 * 1024;
/** Lines around a change. */
const CONTEXT = 3;

/** Returns the changing parts of files for a person's question, within its limit. */
export function shownChanges(changes: readonly FileChange[]): FileChange[] {
  const shown: FileChange[] = [];
  let room = SHOWN_MAX;
  for (const part of changes.flatMap(partsOf)) {
    const length = (part.before?.length ?? 0) + part.after.length;
    if (length > room) {
      shown.push(cut(part, room));
      break;
    }
    shown.push(part);
    room -= length;
  }
  return shown;
}

function partsOf(change: FileChange): FileChange[] {
  const { path, before, after, deleted } = change;
  if (before === undefined || deleted) return [change];
  const { hunks } = structuredPatch(path, path, before, after, "", "", { context: CONTEXT });
  return hunks.map(({ lines, oldStart: line }) => ({
    path,
    before: side(lines, "-"),
    after: side(lines, "+"),
    line,
  }));
}

function side(lines: readonly string[], sign: string): string {
  return lines.filter((line) => line[0] === " " || line[0] === sign)
    .map((line) => `${line.slice(1)}\n`).join("");
}

function cut(part: FileChange, room: number): FileChange {
  const short = (text: string) => text.length <= room / 2 ? text : `${text.slice(0, room / 2)}…\n`;
  const before = part.before === undefined ? undefined : short(part.before);
  return { ...part, before, after: short(part.after) + REST_NOT_SHOWN };
}
