/** The difference that a call makes in files, as rows, for terminals. */
import { diffLines } from "diff";
import { type FileChange, REST_NOT_SHOWN, staysSame } from "../base/edits/changes.ts";
import { changedWords, type Part } from "../base/edits/words.ts";

/** One line of a file, or a gap between parts. */
export interface DiffRow {
  mark: "+" | "-" | " " | "⋮";
  text: string;
  number?: number;
  /** Of a line that replaces another: which of its words changed. */
  parts?: readonly Part[];
}

export interface FileDiff {
  path: string;
  /** What becomes of the file: `+2 −1`. */
  sum: string;
  /** Empty where no line changes. */
  rows: DiffRow[];
  /** Whether there was no file, or there is none later. */
  one_sided: boolean;
}

/** A row with its number and the blank after it, as wide as those of the other rows. */
export type NumberedRow = Omit<DiffRow, "number"> & { margin: string };

/** A line of a difference and the file that it is in. */
export type DiffLine = NumberedRow & { path: string };

export interface DiffOptions {
  /** Makes everything in a text visible. */
  shown(text: string): string;
  /** Unchanged lines to keep around changes; all by default. */
  context?: number;
  /** Whether lines are numbered as they were when their part was changed, not as before the call. */
  in_turn?: boolean;
  /** The last row of a file whose changes were cut; none by default. */
  rest?: string;
  /** How long each difference is looked for; half a second by default. */
  search_ms?: number;
}

/** How long a difference is looked for, in milliseconds: texts that share little take very long. */
const SEARCH_MS = 500;
/** Longer runs of lines are not compared word by word. */
const RUN_MAX = 100;

/** Returns the files that a call changes, in the order of its changes. */
export function fileDiffs(changes: readonly FileChange[], options: DiffOptions): FileDiff[] {
  return [...Map.groupBy(changes, ({ path }) => path)]
    .map(([path, parts]) => fileDiff(path, parts, options));
}

/** Puts numbers in front of rows; none where no row has one. */
export function numbered(rows: readonly DiffRow[]): NumberedRow[] {
  const digits = rows.reduce((most, { number = "" }) => Math.max(most, `${number}`.length), 0);
  return rows.map(({ number = "", ...row }) => ({
    ...row,
    margin: digits === 0 ? "" : `${`${number}`.padStart(digits)} `,
  }));
}

function fileDiff(path: string, parts: readonly FileChange[], options: DiffOptions): FileDiff {
  const rows: DiffRow[] = [];
  /** How many lines the parts before have added. */
  let shift = 0;
  for (const part of parts) {
    if (rows.length > 0) rows.push({ mark: "⋮", text: "" });
    const found = rowsOf(part, shift, options);
    rows.push(...found);
    if (!options.in_turn) shift += count(found, "+") - count(found, "-");
  }
  const [{ before, deleted }] = parts;
  const changed = rows.some(({ mark }) => mark === "+" || mark === "-");
  const kept = options.context === undefined ? rows : withContext(rows, options.context);
  const cut = options.rest !== undefined && parts.at(-1)!.after.endsWith(REST_NOT_SHOWN);
  if (cut) kept.push({ mark: "⋮", text: options.rest! });
  return {
    path,
    sum: sumOf(rows, parts),
    rows: changed ? withWords(kept) : [],
    one_sided: before === undefined || deleted === true,
  };
}

function rowsOf(
  { before, after, deleted, line: at }: FileChange,
  shift: number,
  { shown, search_ms = SEARCH_MS }: DiffOptions,
): DiffRow[] {
  // In a file that goes, no line is looked for.
  const begin = deleted ? undefined : before === undefined ? 1 : at;
  const texts = [before ?? "", after.replace(REST_NOT_SHOWN, "")].map((text) => shown(text));
  const parts = diffLines(texts[0], texts[1], { timeout: search_ms }) ?? [
    { removed: true, added: false, value: texts[0] },
    { removed: false, added: true, value: texts[1] },
  ];
  let [was, is] = begin === undefined ? [NaN, NaN] : [begin, begin + shift];
  return parts.flatMap(({ added, removed, value }) => {
    if (value === "") return [];
    return value.replace(/\n$/, "").split("\n").map((text): DiffRow => {
      const number = removed ? was : is;
      if (!added) was++;
      if (!removed) is++;
      const mark = added ? "+" : removed ? "-" : " ";
      return { mark, text, ...Number.isNaN(number) ? {} : { number } };
    });
  });
}

/** Leaves out unchanged lines that are not near a change. */
function withContext(rows: readonly DiffRow[], context: number): DiffRow[] {
  const near = new Set<number>();
  for (const [n, { mark }] of rows.entries()) {
    if (mark !== "+" && mark !== "-") continue;
    for (let at = n - context; at <= n + context; at++) near.add(at);
  }
  const kept: DiffRow[] = [];
  for (const [n, row] of rows.entries()) {
    if (row.mark !== "⋮" && near.has(n)) kept.push(row);
    else if (kept.length > 0 && kept.at(-1)!.mark !== "⋮") kept.push({ mark: "⋮", text: "" });
  }
  if (kept.at(-1)?.mark === "⋮") kept.pop();
  return kept;
}

/** Marks the words that differ between the removed lines and the added ones that follow them. */
function withWords(rows: DiffRow[]): DiffRow[] {
  for (let at = 0; at < rows.length;) {
    const first = at;
    while (rows[at]?.mark === "-") at++;
    const middle = at;
    while (rows[at]?.mark === "+") at++;
    const pairs = Math.min(middle - first, at - middle);
    for (let n = 0; n < pairs && pairs <= RUN_MAX; n++) {
      const [one, other] = [rows[first + n], rows[middle + n]];
      const words = changedWords(one.text, other.text);
      one.parts = words?.before;
      other.parts = words?.after;
    }
    if (at === first) at++;
  }
  return rows;
}

function count(rows: readonly DiffRow[], mark: DiffRow["mark"]): number {
  return rows.filter((row) => row.mark === mark).length;
}

function sumOf(rows: readonly DiffRow[], parts: readonly FileChange[]): string {
  const [added, removed] = [count(rows, "+"), count(rows, "-")];
  if (parts.some(({ deleted }) => deleted)) return "deleted";
  if (parts.some(({ replaced }) => replaced)) {
    return `replaces a file that cannot be shown, ${linesText(added)}`;
  }
  if (parts.every(staysSame)) return "no change";
  if (parts.every(({ before }) => before === undefined)) return `new file, ${linesText(added)}`;
  return added + removed === 0 ? "only the end of its last line changes" : `+${added} −${removed}`;
}

function linesText(n: number): string {
  return n === 1 ? "1 line" : `${n} lines`;
}
