/** The rows of the list of changed files. */
import type { LineComment, LineRange } from "./comments.ts";
import type { Line, LineRow } from "./lines.ts";
import type { FileModel } from "./model.ts";

export type Row =
  & { key: string; file: FileModel }
  & (
    | { kind: "file" }
    | { kind: "note"; text: string; failed?: boolean }
    | { kind: "lines"; lines: LineRow }
    | { kind: "comment"; comment: LineComment; moved: boolean }
    | { kind: "editor" }
  );

/** Chosen lines, on which a comment is perhaps being written. */
export interface Writing extends LineRange {
  quote: string;
  /** Whether its box is open. */
  open: boolean;
}

interface Shown {
  split: boolean;
  comments: readonly LineComment[];
  writing: Writing | undefined;
}

const NOTES: Record<string, string> = {
  binary: "This file is not text.",
  too_large: "This file is too large to show.",
  gone: "This file is no longer different.",
};

/** Makes rows; they are other ones only when something in them is. */
export class RowMaker {
  #files = new WeakMap<FileModel, { of: readonly unknown[]; rows: Row[] }>();
  #parts: readonly Row[][] = [];
  #rows: Row[] = [];
  #comments: { of: readonly LineComment[]; by_path: Map<string, LineComment[]> } | undefined;

  rows(files: readonly FileModel[], { split, comments, writing }: Shown): readonly Row[] {
    if (this.#comments?.of !== comments) {
      this.#comments = { of: comments, by_path: Map.groupBy(comments, ({ path }) => path) };
    }
    const { by_path } = this.#comments;
    const parts = files.map((file) => {
      const about = by_path.get(file.path);
      const box = writing?.open && writing.path === file.path ? writing : undefined;
      return this.#of(file, split, about, box);
    });
    if (parts.length !== this.#parts.length || parts.some((it, n) => it !== this.#parts[n])) {
      this.#parts = parts;
      this.#rows = parts.flat();
    }
    return this.#rows;
  }

  #of(
    file: FileModel,
    split: boolean,
    comments: readonly LineComment[] | undefined,
    box: Writing | undefined,
  ): Row[] {
    const open = file.is_open;
    const { text, error } = file;
    const of = [open, open && file.rows(split), text, error, comments, box];
    const known = this.#files.get(file);
    if (known?.of.every((it, n) => it === of[n])) return known.rows;
    const rows = rowsBelow(file, { split, comments: comments ?? [], writing: box });
    rows.unshift({ key: file.path, file, kind: "file" });
    this.#files.set(file, { of, rows });
    return rows;
  }
}

function rowsBelow(file: FileModel, { split, comments, writing }: Shown): Row[] {
  const { path, text, error } = file;
  const commented = (it: LineComment): Row => ({
    key: `${path}\0comment ${it.id}`,
    file,
    kind: "comment",
    comment: it,
    moved: text !== undefined && quoteOf(file, it) !== it.quote,
  });
  const all = comments.map(commented);
  // They are sent too, so they are seen.
  if (!file.is_open) return all;
  const note = (text: string, failed?: boolean): Row => ({
    key: `${path}\0note`,
    file,
    kind: "note",
    text,
    failed,
  });
  if (text === undefined) {
    return [...all, error === undefined ? note("Loading…") : note(error, true)];
  }
  const lines = file.rows(split);
  const rows: Row[] = [];
  if (NOTES[text.kind] !== undefined) rows.push(note(NOTES[text.kind]));
  else if (text.kind === "link") rows.push(note("This is a link. Its text is where it leads."));
  else if (lines.every(({ fold }) => fold)) {
    rows.push(note(lines.length === 0 ? "This file is empty." : "The text is the same."));
  }
  const waiting = new Set(comments);
  for (const line of lines) {
    rows.push({ key: `${path}\0${line.key}`, file, kind: "lines", lines: line });
    for (const it of waiting) {
      if (!endsAt(it, line)) continue;
      waiting.delete(it);
      rows.push(commented(it));
    }
    if (writing && endsAt(writing, line)) {
      rows.push({ key: `${path}\0editor`, file, kind: "editor" });
    }
  }
  // Its line is not shown, or no longer there.
  for (const it of waiting) rows.unshift(commented(it));
  return rows;
}

function endsAt({ side, to }: LineRange, { left, right }: LineRow): boolean {
  return side === "old" ? left?.kind === "delete" && left.old === to : right?.now === to;
}

/** The line of a row that a comment would be about. @param side the one that was pressed */
export function rangeOf(row: Row, side?: "old" | "new"): LineRange | undefined {
  if (row.kind !== "lines") return undefined;
  const { left, right } = row.lines;
  const path = row.file.path;
  const removed = left?.kind === "delete" ? left.old : undefined;
  // An unchanged line is the same on both sides.
  const line = side === "old" ? removed ?? right?.now : right?.now ?? removed;
  if (line === undefined) return undefined;
  const is_old = line === removed && (side === "old" || right === undefined);
  return { path, side: is_old ? "old" : "new", from: line, to: line };
}

/** Whether a line is among the chosen ones. */
export function isChosen(row: Row, range: LineRange | undefined): boolean {
  if (range === undefined || row.kind !== "lines" || row.file.path !== range.path) return false;
  const { left, right } = row.lines;
  const line = range.side === "new" ? right?.now : left?.kind === "delete" ? left.old : undefined;
  return line !== undefined && range.from <= line && line <= range.to;
}

/** The text of lines. */
export function quoteOf(file: FileModel, { side, from, to }: LineRange): string {
  const number = ({ old, now, kind }: Line) =>
    side === "new" ? now : kind === "delete" ? old : undefined;
  return file.lines.filter((line) => {
    const it = number(line);
    return it !== undefined && from <= it && it <= to;
  }).map(({ text }) => text).join("\n");
}
