/** Finds the old text of an edit in a file. */
import { indentOf, lineOf, type Step, type TextStep, viewOf } from "./views.ts";

/** A range in UTF-16 units. */
export interface Range {
  start: number;
  end: number;
}

/** The result of the first step that finds anything. */
export interface Found {
  step: Step;
  ranges: Range[];
  /** Whether places overlap: `aa` is twice in `aaa`. */
  overlapping: boolean;
}

const TEXT_STEPS: readonly TextStep[] = ["line ends", "trailing blanks", "typographic characters"];

/** Restricts places. */
interface Wanted {
  /** Only at the start of a line. */
  whole_lines?: boolean;
  /** Only at the end of the text. */
  at_end?: boolean;
  fits?(range: Range): boolean;
}

/** Finds all places of a text, by the first step that finds any. */
export function findText(text: string, old_text: string, wanted: Wanted = {}): Found | undefined {
  const counts = (range: Range) => {
    const { start, end } = range;
    if (wanted.whole_lines && start > 0 && text[start - 1] !== "\n") return false;
    if (wanted.at_end && end !== text.length) return false;
    return wanted.fits?.(range) ?? true;
  };
  const steps: [Step, () => Range[]][] = [
    ["exact", () => placesOf(text, old_text)],
    ...TEXT_STEPS.map((step): [Step, () => Range[]] => [
      step,
      () => findSeen(text, old_text, step),
    ]),
    ["indentation", () => findLines(text, old_text)],
  ];
  for (const [step, find] of steps) {
    const ranges = find().filter(counts);
    if (ranges.length > 0) return found(step, ranges);
  }
  return undefined;
}

function found(step: Step, all: readonly Range[]): Found {
  const ranges: Range[] = [];
  for (const range of all) {
    if (range.start >= (ranges.at(-1)?.end ?? 0)) ranges.push(range);
  }
  return { step, ranges, overlapping: ranges.length < all.length };
}

/** Enough places to know. */
const PLACES_MAX = 10_000;

/** All places of a text, including overlapping ones. */
function placesOf(text: string, old_text: string): Range[] {
  const ranges: Range[] = [];
  for (let at = text.indexOf(old_text); at >= 0; at = text.indexOf(old_text, at + 1)) {
    ranges.push({ start: at, end: at + old_text.length });
    if (ranges.length === PLACES_MAX) break;
  }
  return ranges;
}

function findSeen(text: string, old_text: string, step: TextStep): Range[] {
  const wanted = viewOf(old_text, step).text;
  if (wanted.trim() === "") return [];
  // Trailing blanks must match at a line's end: otherwise "return  " would match in "returned".
  const to_line_end = step !== "line ends" && /[ \t]$/.test(old_text);
  const view = viewOf(text, step);
  const { starts, ends } = view;
  return placesOf(view.text, wanted).filter(({ start, end }) => {
    if (start > 0 && starts[start] === starts[start - 1]) return false;
    if (end < ends.length && ends[end] === ends[end - 1]) return false;
    return !to_line_end || end === ends.length || view.text[end] === "\n";
  }).map(({ start, end }) => ({ start: starts[start], end: ends[end - 1] }));
}

export interface Line extends Range {
  /** Without indentation and line end. */
  content: string;
}

/** Finds whole lines that differ in indentation only. */
function findLines(text: string, old_text: string): Range[] {
  const whole = /\n$/.test(old_text);
  const wanted = linesOf(whole ? old_text.replace(/\r?\n$/, "") : old_text);
  const first = wanted.findIndex(({ content }) => content !== "");
  if (first < 0) return [];
  const lines = linesOf(text);
  const ranges: Range[] = [];
  for (let at = 0; at + wanted.length <= lines.length; at++) {
    if (lines[at + first].content !== wanted[first].content) continue;
    if (!wanted.every(({ content }, n) => lines[at + n].content === content)) continue;
    const last = lines[at + wanted.length - 1];
    const newline = text.startsWith("\r\n", last.end) ? 2 : text[last.end] === "\n" ? 1 : 0;
    if (whole && newline === 0) continue;
    ranges.push({ start: lines[at].start, end: last.end + (whole ? newline : 0) });
    if (ranges.length === PLACES_MAX) break;
  }
  return ranges;
}

/** Splits a text into lines; text after the last newline counts if not empty. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < text.length || lines.length === 0;) {
    const newline = text.indexOf("\n", start);
    const next = newline < 0 ? text.length : newline + 1;
    const line = text.slice(start, next).replace(/\r?\n$/, "");
    lines.push({ start, end: start + line.length, content: lineOf(line) });
    if (newline < 0) break;
    start = next;
  }
  return lines;
}

/** Returns the line number of a position, from 1. */
export function lineNumber(text: string, at: number): number {
  let line = 1;
  for (let next = text.indexOf("\n"); next >= 0 && next < at; next = text.indexOf("\n", next + 1)) {
    line++;
  }
  return line;
}

/** Characters to show of a line. */
const SHOWN_MAX = 200;

/** Describes the lines most similar to a missing text; undefined if no line matches. */
export function nearestLines(text: string, old_text: string): string | undefined {
  const wanted = linesOf(old_text);
  const lines = linesOf(text);
  const places = new Map<string, number[]>();
  for (const [n, { content }] of lines.entries()) {
    if (content.length < 3) continue;
    places.set(content, [...places.get(content)?.slice(0, PLACES_PER_LINE) ?? [], n]);
  }
  const votes = new Map<number, number>();
  for (const [n, { content }] of wanted.entries()) {
    for (const place of places.get(content) ?? []) {
      votes.set(place - n, (votes.get(place - n) ?? 0) + 1);
    }
  }
  const [best] = [...votes].sort(([at, a], [other_at, b]) => b - a || at - other_at);
  if (best === undefined) return undefined;
  const [begin, alike] = best;
  const differs = wanted.findIndex(({ content }, n) => lines[begin + n]?.content !== content);
  const where = `lines ${Math.max(begin, 0) + 1}–${Math.min(begin + wanted.length, lines.length)}`;
  if (differs < 0) return `${where} have the same words but other indentation`;
  const of = lineAt(text, lines[begin + differs]);
  const is = of === undefined ? "is not there" : `is ${shown(of)}`;
  return `${where} come nearest (${alike} of ${wanted.length} lines alike): ` +
    `line ${begin + differs + 1} ${is}, old_text has ${shown(lineAt(old_text, wanted[differs])!)}`;
}

const PLACES_PER_LINE = 20;

function lineAt(text: string, line: Range | undefined): string | undefined {
  return line && text.slice(line.start, line.end);
}

function shown(line: string): string {
  return JSON.stringify(line.length <= SHOWN_MAX ? line : `${line.slice(0, SHOWN_MAX)}…`);
}

/** Pairs of indentations of otherwise equal lines. */
export function indentPairs(file: string, given: string): [given: string, file: string][] {
  const lines = linesOf(file);
  return linesOf(given).flatMap((line, n): [string, string][] => {
    if (line.content === "") return [];
    const [of, other] = [lineAt(given, line)!, lineAt(file, lines[n])!];
    return [[indentOf(of), indentOf(other)]];
  });
}
