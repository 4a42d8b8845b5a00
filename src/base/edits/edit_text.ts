/** Applies edits to a text, in the file's own form. */
import { findText, type Found, indentPairs, lineNumber, nearestLines, type Range } from "./find.ts";
import { type Edit, EditProblem } from "./edit.ts";
import { reindenting } from "./indent.ts";
import { indentOf, lineOf, type Step } from "./views.ts";

/** The result of an edit. */
export interface Applied {
  text: string;
  /** Line of the first place, from 1. */
  line: number;
  /** Position after the last new text. */
  end: number;
  times: number;
  step: Step;
  /** Further differences from old_text that were ignored. */
  mended?: string;
}

const LISTED_MAX = 5;

/**
 * Replaces the one place of `old_text`, or all with `replace_all`. Changed line ends, trailing
 * blanks, typographic characters or indentation are ignored if the place stays certain. Unchanged
 * lines keep every byte.
 *
 * @throws {EditProblem} where there is no place, or more than one
 */
export function editText(text: string, edit: Edit): Applied {
  const { old_text, new_text, replace_all = false } = edit;
  if (old_text === new_text) throw new EditProblem("old_text and new_text are the same");
  if (old_text.trim() === "" && !text.includes(old_text)) {
    throw new EditProblem("old_text has only blanks and does not occur; give some of the text");
  }
  // A file whose last line has no newline is edited as if it had one.
  const open = !text.endsWith("\n") && old_text.endsWith("\n") && !text.includes(old_text);
  const whole = open ? text + lineEndAt(text, { start: text.length, end: text.length }) : text;
  const found = findText(whole, old_text);
  if (found === undefined) {
    const done = mendedEdit(text, edit);
    if (done !== undefined) return done;
    throw new EditProblem(notFound(whole, old_text));
  }
  if (!replace_all && (found.ranges.length > 1 || found.overlapping)) {
    throw new EditProblem(ambiguous(whole, found));
  }
  const { step, ranges } = found;
  let edited = "";
  let at = 0;
  for (const range of ranges) {
    edited += whole.slice(at, range.start) + replacement(whole, range, edit, step);
    at = range.end;
  }
  const end = edited.length;
  edited += whole.slice(at);
  if (open) edited = edited.replace(/\r?\n$/, "");
  if (edited === text) {
    throw new EditProblem("nothing would change: the file already has the new text");
  }
  return {
    text: edited,
    line: lineNumber(whole, ranges[0].start),
    end,
    times: ranges.length,
    step,
  };
}

/** Applies the probable meaning of an edit, if exactly one place fits. */
function mendedEdit(text: string, edit: Edit): Applied | undefined {
  for (const { mended, ...meant } of meantEdits(edit)) {
    try {
      return { ...editText(text, { ...edit, ...meant }), mended };
    } catch (error) {
      // The original edit's error is reported instead.
      if (!(error instanceof EditProblem)) throw error;
    }
  }
}

/** The edit without typical mistakes of models. */
function* meantEdits({ old_text, new_text }: Edit) {
  const [start, , end] = blankAround(old_text);
  if (start !== "" || end !== "") {
    yield {
      old_text: withoutAround(old_text, start, end),
      new_text: withoutAround(new_text, start, end),
      mended: "blank lines around it that the file has not",
    };
  }
  const plain = unescaped(old_text);
  if (plain !== old_text) {
    yield { old_text: plain, new_text: unescaped(new_text), mended: "escapes that were doubled" };
  }
}

/** Splits a text into blank lines before, the rest, and blank lines after. */
function blankAround(text: string): [start: string, between: string, end: string] {
  const [, start, between, end] = text.match(
    /^((?:[ \t]*\r?\n)*)(.*?)((?:(?<=\n)[ \t]*\r?\n)*)$/s,
  )!;
  return [start, between, end];
}

/** Removes as many blank lines around a text as another has. */
function withoutAround(text: string, start: string, end: string): string {
  const [before, between, after] = blankAround(text);
  const count = (lines: string) => lines.split("\n").length - 1;
  const left = (lines: string, gone: number) =>
    lines.split("\n").slice(Math.min(count(lines), gone)).join("\n");
  return left(before, count(start)) + between + left(after, count(end));
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** Undoes one level of escaping. */
function unescaped(text: string): string {
  return text.replace(/\\(["'`\\nrt])/g, (_, char) => ESCAPES[char] ?? char);
}

/** The new text with the file's line ends, indentation and kept lines. @throws {EditProblem} */
export function replacement(text: string, range: Range, edit: Edit, step: Step): string {
  const { old_text, new_text } = edit;
  const newline = lineEndAt(text, range);
  const old_lines = splitLines(old_text);
  const new_lines = splitLines(new_text);
  if (step === "exact") {
    // An edit may change line ends only.
    if (old_lines.join("\n") === new_lines.join("\n")) return new_text;
    return new_lines.join(newline);
  }
  const place = text.slice(range.start, range.end);
  const file_lines = splitLines(place);
  const kept = keptLines(old_lines, new_lines);
  const reindent = step !== "indentation"
    ? undefined
    : reindenting(indentPairs(place, old_text), [...old_lines, ...new_lines]);
  return new_lines.map((line, n) => {
    const from = kept.get(n);
    if (from !== undefined) return file_lines[from];
    if (step !== "indentation" || lineOf(line) === "") return line;
    const indent = indentOf(line);
    const fitting = reindent?.(indent);
    if (fitting === undefined) {
      throw new EditProblem(
        `old_text occurs only with other indentation (line ${lineNumber(text, range.start)}), ` +
          "and how to indent new_text is not certain; copy the lines exactly",
      );
    }
    return fitting + line.slice(indent.length);
  }).join(newline);
}

function splitLines(text: string): string[] {
  return text.split(/\r?\n/);
}

/** The line end at a place: in it, before it, or after it. */
export function lineEndAt(text: string, { start, end }: Range): string {
  const inside = text.slice(start, end).match(/\r?\n/);
  if (inside) return inside[0];
  const before = text.lastIndexOf("\n", start - 1);
  const at = before >= 0 && start > 0 ? before : text.indexOf("\n", end);
  return at > 0 && text[at - 1] === "\r" ? "\r\n" : "\n";
}

/** With more comparisons, only lines at both ends are matched. */
const COMPARISONS_MAX = 250_000;

/** Maps new lines to the old ones they keep: the longest common subsequence, by index. */
function keptLines(
  old_lines: readonly string[],
  new_lines: readonly string[],
): Map<number, number> {
  const kept = new Map<number, number>();
  let head = 0;
  const shorter = Math.min(old_lines.length, new_lines.length);
  while (head < shorter && old_lines[head] === new_lines[head]) kept.set(head, head++);
  let tail = 0;
  while (
    tail < shorter - head && old_lines.at(-1 - tail) === new_lines.at(-1 - tail)
  ) {
    tail++;
    kept.set(new_lines.length - tail, old_lines.length - tail);
  }
  const before = old_lines.slice(head, old_lines.length - tail);
  const after = new_lines.slice(head, new_lines.length - tail);
  if (before.length * after.length > COMPARISONS_MAX) return kept;
  // lengths[n][m]: longest common subsequence of the rest.
  const lengths = Array.from(
    { length: before.length + 1 },
    () => new Uint32Array(after.length + 1),
  );
  for (let n = before.length - 1; n >= 0; n--) {
    for (let m = after.length - 1; m >= 0; m--) {
      lengths[n][m] = before[n] === after[m]
        ? lengths[n + 1][m + 1] + 1
        : Math.max(lengths[n + 1][m], lengths[n][m + 1]);
    }
  }
  for (let n = 0, m = 0; n < before.length && m < after.length;) {
    if (before[n] === after[m]) kept.set(head + m++, head + n++);
    else if (lengths[n + 1][m] >= lengths[n][m + 1]) n++;
    else m++;
  }
  return kept;
}

function ambiguous(text: string, { step, ranges, overlapping }: Found): string {
  const how = step === "exact" ? "" : `, each with other ${step},`;
  const times = overlapping && ranges.length === 1
    ? "more than once, one place over another"
    : `${ranges.length} times`;
  return `old_text occurs ${times}${how} ${linesListed(text, ranges)}; ` +
    "give more of the text around it, or set replace_all";
}

/** Lists the lines of places, for a message. */
export function linesListed(text: string, ranges: readonly Range[]): string {
  const lines = ranges.slice(0, LISTED_MAX).map(({ start }) => lineNumber(text, start));
  const more = ranges.length > LISTED_MAX ? ", …" : "";
  return `at line${lines.length > 1 ? "s" : ""} ${lines.join(", ")}${more}`;
}

function notFound(text: string, old_text: string): string {
  const nearest = nearestLines(text, old_text);
  return nearest === undefined
    ? "old_text was not found, nor any of its lines; read the file again"
    : `old_text was not found; ${nearest}`;
}
