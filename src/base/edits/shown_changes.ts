/** What changes in files, for people: the parts that differ, within a limit. */
import { structuredPatch } from "diff";
import { type FileChange, REST_NOT_SHOWN } from "./changes.ts";

/** The most characters of the changes of a call, with the paths of their parts. */
const SHOWN_MAX = 64 * 1024;
/** Lines around a change. */
const CONTEXT = 3;
/** The time to find a difference grows with the square of the lines that differ. */
const EDITS_MAX = 1_000;

/** Returns the changing parts of files, within the limit. A file that stays the same has no text. */
export function shownChanges(changes: readonly FileChange[]): FileChange[] {
  const shown: FileChange[] = [];
  let room = SHOWN_MAX;
  for (const part of changes.flatMap(partsOf)) {
    const length = part.path.length + (part.before?.length ?? 0) + part.after.length;
    if (length > room) {
      shown.push(cut(part, room));
      break;
    }
    shown.push(part);
    room -= length;
  }
  return shown;
}

/**
 * Returns what is recorded of a call's changes, in addition to its arguments; undefined where those
 * show all of them. The text of a deleted file is not recorded.
 */
export function recordedChanges(changes: readonly FileChange[]): FileChange[] | undefined {
  const shown = changes.map(({ before, deleted, ...change }): FileChange => ({
    ...change,
    ...deleted ? { deleted } : before !== undefined && { before },
  }));
  const tells = shown.some(({ before, replaced }) => before !== undefined || replaced);
  return tells ? shownChanges(shown) : undefined;
}

function partsOf(change: FileChange): FileChange[] {
  const { path, before, after, deleted } = change;
  if (before === undefined || deleted) return [change];
  if (before === after) return [{ path, before: "", after: "" }];
  const { was, is, skipped } = differing(before, after);
  return hunksOf(path, was, is).map(({ lines, oldStart }) => ({
    path,
    before: side(lines, "-"),
    after: side(lines, "+"),
    line: oldStart + skipped,
  }));
}

/** Two texts without what they begin and end with, and the number of lines skipped. */
function differing(before: string, after: string): { was: string; is: string; skipped: number } {
  const max = Math.min(before.length, after.length);
  let same = 0;
  while (same < max && before[same] === after[same]) same++;
  let from = beginOfLine(before, same);
  for (let n = 0; n < CONTEXT; n++) from = beginOfLine(before, from - 1);
  let same_end = 0;
  while (
    same_end < max - same &&
    before[before.length - 1 - same_end] === after[after.length - 1 - same_end]
  ) same_end++;
  // The first whole line of the common end, then the lines around a change.
  let to = before.indexOf("\n", before.length - same_end) + 1;
  for (let n = 0; n < CONTEXT && to > 0; n++) to = before.indexOf("\n", to) + 1;
  const tail = to > 0 ? before.length - to : 0;
  const skipped = from === 0 ? 0 : before.slice(0, from).split("\n").length - 1;
  return {
    was: before.slice(from, before.length - tail),
    is: after.slice(from, after.length - tail),
    skipped,
  };
}

/** The index of the first character of the line that a character is in. */
function beginOfLine(text: string, at: number): number {
  return at <= 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1;
}

interface Hunk {
  lines: readonly string[];
  /** Its first line in the old text, from 1. */
  oldStart: number;
}

function hunksOf(path: string, was: string, is: string): readonly Hunk[] {
  const found = editsAtLeast(was, is) > EDITS_MAX
    ? undefined
    : structuredPatch(path, path, was, is, "", "", { context: CONTEXT, maxEditLength: EDITS_MAX });
  return found?.hunks ?? [{
    oldStart: 1,
    lines: [...linesOf(was).map((line) => `-${line}`), ...linesOf(is).map((line) => `+${line}`)],
  }];
}

/** The lines that one of the texts has more of than the other. */
function editsAtLeast(was: string, is: string): number {
  const counts = new Map<string, number>();
  for (const line of linesOf(was)) counts.set(line, (counts.get(line) ?? 0) + 1);
  for (const line of linesOf(is)) counts.set(line, (counts.get(line) ?? 0) - 1);
  return counts.values().reduce((sum, count) => sum + Math.abs(count), 0);
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function side(lines: readonly string[], sign: string): string {
  return lines.filter((line) => line[0] === " " || line[0] === sign)
    .map((line) => `${line.slice(1)}\n`).join("");
}

function cut(part: FileChange, room: number): FileChange {
  const short = (text: string) =>
    text.length <= room / 2 ? text : `${text.slice(0, room / 2).toWellFormed()}…\n`;
  const before = part.before === undefined ? undefined : short(part.before);
  return { ...part, before, after: short(part.after) + REST_NOT_SHOWN };
}
