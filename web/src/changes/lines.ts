/** The lines of a changed file, and which of them are shown. */
import type { Result } from "../rpc/api.ts";

export type ChangedText = Result<"session.changed_file">;

/** A line of a file before or after a change, or of both. */
export interface Line {
  kind: "same" | "insert" | "delete";
  text: string;
  /** Its number before. */
  old?: number;
  /** Its number now. */
  now?: number;
  /** The line that it replaces, or that replaces it. */
  other?: Line;
  /** Whether it is a last line without a newline. */
  unended?: boolean;
}

/** A row of a file: a line, two lines side by side, or lines that are left out. */
export interface LineRow {
  key: string;
  left?: Line;
  right?: Line;
  /** The lines that are left out: the indices of the first and of the one after the last. */
  fold?: readonly [from: number, to: number];
}

/** Lines around a change that are shown. */
const CONTEXT = 3;
/** Fewer lines are not left out. */
const FOLD_MIN = 3;
/** Lines that one press shows. */
export const MORE_LINES = 20;

/** @param whole_new whether every line is new */
export function linesOf({ text, hunks }: ChangedText, whole_new: boolean): Line[] {
  const texts = text.split("\n");
  const ended = texts.at(-1) === "";
  if (ended) texts.pop();
  const lines: Line[] = [];
  const same = (up_to: number) => {
    while (now <= up_to && now <= texts.length) {
      lines.push({ kind: "same", text: texts[now - 1], old: old++, now: now++ });
    }
  };
  let [old, now] = [1, 1];
  const all = whole_new && hunks.length === 0
    ? [{ old_line: 0, new_line: 1, removed: [], added: texts.length }]
    : hunks;
  for (const { old_line, new_line, removed, added, unended } of all) {
    same(added > 0 ? new_line - 1 : new_line);
    if (removed.length > 0) old = old_line;
    const before = removed.map((text): Line => ({ kind: "delete", text, old: old++ }));
    const after = texts.slice(now - 1, now - 1 + added)
      .map((text): Line => ({ kind: "insert", text, now: now++ }));
    if (unended && before.length > 0) before.at(-1)!.unended = true;
    for (let n = 0; n < Math.min(before.length, after.length); n++) {
      before[n].other = after[n];
      after[n].other = before[n];
    }
    lines.push(...before, ...after);
  }
  same(texts.length);
  const last = lines.findLast((line) => line.now !== undefined);
  if (!ended && last?.now === texts.length) last.unended = true;
  return lines;
}

/** @param expanded the new numbers of unchanged lines that are shown too */
export function rowsOf(
  lines: readonly Line[],
  expanded: ReadonlySet<number>,
  split: boolean,
): LineRow[] {
  const shown = shownOf(lines, expanded);
  const rows: LineRow[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    if (!shown[at]) {
      const from = at;
      while (at < lines.length && !shown[at]) at++;
      rows.push({ key: `fold ${line.now}`, fold: [from, at] });
    } else if (split && line.kind !== "same") {
      const block: Line[] = [];
      while (at < lines.length && lines[at].kind !== "same") block.push(lines[at++]);
      rows.push(...sideBySide(block));
    } else {
      at++;
      rows.push({
        key: keyOf(line),
        ...line.kind !== "insert" && { left: line },
        ...line.kind !== "delete" && { right: line },
      });
    }
  }
  return rows;
}

function shownOf(lines: readonly Line[], expanded: ReadonlySet<number>): boolean[] {
  const shown = lines.map(({ kind, now }) => kind !== "same" || expanded.has(now!));
  for (const [n, { kind }] of lines.entries()) {
    if (kind === "same") continue;
    for (let at = Math.max(0, n - CONTEXT); at <= n + CONTEXT && at < lines.length; at++) {
      shown[at] = true;
    }
  }
  for (let at = 0; at < lines.length;) {
    const from = at;
    while (at < lines.length && !shown[at]) at++;
    if (at - from < FOLD_MIN) shown.fill(true, from, at);
    at++;
  }
  return shown;
}

/** Puts each removed line beside the one that replaces it. */
function sideBySide(block: readonly Line[]): LineRow[] {
  const rows: LineRow[] = [];
  for (const line of block) {
    if (line.kind === "delete") {
      rows.push({ key: keyOf(line), left: line, ...line.other && { right: line.other } });
    } else if (line.other === undefined) rows.push({ key: keyOf(line), right: line });
  }
  return rows;
}

function keyOf({ kind, old, now }: Line): string {
  return kind === "delete" ? `old ${old}` : `new ${now}`;
}

/** Returns the new numbers of lines that are left out: those next to a shown one, or all. */
export function moreOf(
  lines: readonly Line[],
  [from, to]: readonly [number, number],
  which: "more" | "all",
): number[] {
  const part = which === "all" || to - from <= MORE_LINES
    ? lines.slice(from, to)
    // What is above the first change is read from the change on.
    : from === 0
    ? lines.slice(to - MORE_LINES, to)
    : lines.slice(from, from + MORE_LINES);
  return part.map(({ now }) => now!);
}
