/** Lines of differences as rows of the screen: numbers, signs, and the words that changed. */
import { diffsOf } from "../../session/call_diffs.ts";
import { type DiffLine, numbered, type NumberedRow } from "../../session/diff_rows.ts";
import type { Entry } from "./model.ts";
import {
  beside,
  clean,
  cleanLine,
  type Ground,
  type Line,
  type Span,
  width,
  wrapLine,
} from "./text.ts";

/** Colours a line of code in the language of its file; undefined where it knows none. */
export type ColourCode = (code: string, path: string) => Line | undefined;

export interface DiffLayout {
  cols: number;
  colour?: ColourCode;
  /** Before what is left of a line that is too long; two columns. */
  more?: string;
}

/** A narrower screen has no line numbers. */
const NUMBERS_COLS = 40;
/** Longer lines have no colours. */
const COLOURED_MAX = 400;

/** The changes of a call: each file with its name, then its lines. A list for each line. */
export function changeRows(
  { changes = [], recorded = false }: Entry,
  options: DiffLayout,
): Line[][] {
  return diffsOf({ changes, recorded }, clean).flatMap(({ path, sum, rows }) => [
    wrapLine([{ text: cleanLine(path), style: "bold" }, ...sumSpans(sum)], options.cols),
    ...numbered(rows).map((row) => diffRows({ ...row, path }, options)),
  ]);
}

/** `+2 −1`, each in its colour. */
export function sumSpans(sum: string): Span[] {
  return [
    { text: "  ", style: "plain" },
    ...sum.split(/(?=−)/).map((text): Span => ({
      text,
      style: text.startsWith("+") ? "added" : text.startsWith("−") ? "removed" : "dim",
    })),
  ];
}

/** A line of a difference, wrapped beside its number and its sign. */
export function diffRows(row: DiffLine, { cols, colour, more = "  " }: DiffLayout): Line[] {
  const margin = cols < NUMBERS_COLS ? "" : row.margin;
  const on = GROUNDS[row.mark];
  const inner = Math.max(cols - margin.length - width(more), 1);
  return wrapLine(contentOf(row, colour), inner).map((part, n): Line => [
    beside(n === 0 ? margin : " ".repeat(margin.length), "dim"),
    n > 0 ? beside(more, "dim") : { text: `${row.mark} `, style: on ?? "dim", ...on && { on } },
    ...part,
  ]);
}

const GROUNDS: Partial<Record<NumberedRow["mark"], "added" | "removed">> = {
  "+": "added",
  "-": "removed",
};

/** The text of a line: unchanged ones recede, in the others words that changed stand out. */
function contentOf({ mark, text, parts, path }: DiffLine, colour?: ColourCode): Line {
  const on = GROUNDS[mark];
  if (on === undefined) return [{ text, style: "dim" }];
  const coloured = text.length > COLOURED_MAX ? undefined : colour?.(text, path);
  const spans = coloured ?? [{ text, style: "plain" }];
  const word: Ground = `${on}_word`;
  return marked(spans, parts ?? [{ text, changed: false }])
    .map(({ changed, ...span }) => ({ ...span, on: changed ? word : on }));
}

/** The spans, divided where the parts end. */
function marked(
  spans: Line,
  parts: readonly { text: string; changed: boolean }[],
): (Span & { changed: boolean })[] {
  const out: (Span & { changed: boolean })[] = [];
  let at = 0;
  let left = parts[0]?.text.length ?? Infinity;
  for (const span of spans) {
    for (let text = span.text; text !== "";) {
      while (left === 0 && at < parts.length - 1) left = parts[++at].text.length;
      const taken = left === 0 ? text.length : Math.min(left, text.length);
      out.push({ ...span, text: text.slice(0, taken), changed: parts[at]?.changed ?? false });
      text = text.slice(taken);
      left = Math.max(left - taken, 0);
    }
  }
  return out;
}
