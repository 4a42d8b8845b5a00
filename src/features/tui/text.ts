/** Text for a terminal: made harmless, measured, wrapped and cut in columns. */
import { visible, visibleLine } from "../../base/visible.ts";

/** What a piece of text means; a theme gives each its look, and without colour all look alike. */
export type Style =
  | "plain"
  | "bold"
  | "dim"
  | "italic"
  | "underline"
  | "accent"
  | "success"
  | "warning"
  | "error"
  | "added"
  | "removed"
  | "code"
  | "keyword"
  | "string"
  | "number"
  | "comment"
  | "title";

/** What a piece of text stands on: a line of a difference, or the words of it that changed. */
export type Ground = "added" | "removed" | "added_word" | "removed_word";

/** A piece of a line in one style, without control characters. */
export interface Span {
  text: string;
  style: Style;
  /** Where it leads, as printable ASCII. */
  href?: string;
  on?: Ground;
  /** Attributes that a command printed (`base/looks.ts`); the style has its colour. */
  look?: number;
  /** Whether it stands beside the text: a margin, an edge, a number. It is not copied. */
  beside?: true;
  /** Of the first piece of a row that goes on with the line above: what stood between the two. */
  joins?: " " | "";
}

/** One line of the screen, without its line break. */
export type Line = readonly Span[];

/** Measures text of every script. */
interface Columns {
  width(text: string): number;
  wrap(text: string, cols: number): string[];
}

let columns: Columns | undefined;

/**
 * Loads what measures every script, which takes longer than all else that a terminal needs to begin.
 * Until then text with other than {@linkcode PLAIN} characters is measured roughly.
 */
export async function loadColumns(): Promise<void> {
  columns ??= await import("./columns.ts");
}

/**
 * Text of characters that take one column and never combine: Latin, Cyrillic, and the signs of the
 * screen itself, which are punctuation, arrows, lines, shapes, ticks and the spinner.
 */
const PLAIN =
  /^[ -~\u00a1-\u00ac\u00ae-\u024f\u0400-\u0481\u048a-\u04ff\u2010-\u2027\u2039\u203a\u2190-\u21ff\u2212\u2500-\u25fc\u2713\u2717\u2800-\u28ff]*$/;
/** Characters of two columns, roughly. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f000}-\u{3fffd}]/u;

/** Returns how many columns a text takes. */
export function width(text: string): number {
  if (PLAIN.test(text)) return text.length;
  if (columns !== undefined) return columns.width(text);
  return graphemes(text).reduce((sum, it) => sum + (WIDE.test(it) ? 2 : 1), 0);
}

const TAB = "    ";
/**
 * Makes everything in a text visible, in the composed form of Unicode, in which it is measured.
 * Tabs become spaces, line breaks stay.
 *
 * @param before the preceding text.
 */
export function clean(text: string, before?: string): string {
  return untabbed(visible(text, { before })).normalize();
}

/** As {@linkcode clean}, for a single line. */
export function cleanLine(text: string): string {
  return visibleLine(text).normalize();
}

/** Replaces tabs with spaces. */
export function untabbed(text: string): string {
  return text.replaceAll("\t", TAB);
}

/** Cuts a text, and notes how much is left out. */
export function limited(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}\n[… ${text.length - max} more characters]`;
}

/** Returns the graphemes of a text, in order. */
export function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return text.split("");
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/**
 * Breaks a clean line, at words if possible. A character wider than `cols` stands alone.
 *
 * @returns the rows; joined they are the text again.
 */
export function wrap(text: string, cols: number): string[] {
  if (PLAIN.test(text) && text.length <= cols) return [text];
  return columns?.wrap(text, cols) ?? rows(text, cols);
}

/** Breaks a text anywhere. */
function rows(text: string, cols: number): string[] {
  const all = [""];
  let used = 0;
  for (const char of graphemes(text)) {
    used += width(char);
    if (used > cols && all.at(-1) !== "") {
      all.push("");
      used = width(char);
    }
    all[all.length - 1] += char;
  }
  return all;
}

/** Cuts a text to what fits, with an ellipsis. */
export function cut(text: string, cols: number): string {
  // A thought can be one long line, which is cut anew in each frame.
  if (text.length <= cols * GRAPHEME_MAX && width(text) <= cols) return text;
  if (cols < 1) return "";
  let kept = "";
  let used = 1;
  for (const char of graphemes(text.slice(0, cols * GRAPHEME_MAX))) {
    used += width(char);
    if (used > cols) break;
    kept += char;
  }
  return `${kept}…`;
}

/** Maximum code units searched for one column of text. */
const GRAPHEME_MAX = 32;

/** Returns a line in one style. */
export function line(text: string, style: Style = "plain"): Line {
  return [{ text, style }];
}

/** Returns the text of a line. */
export function lineText(line: Line): string {
  return line.map(({ text }) => text).join("");
}

/** Cuts a line to what fits. */
export function cutLine(line: Line, cols: number): Line {
  if (width(lineText(line)) <= cols) return line;
  const out: Span[] = [];
  let left = cols;
  for (const span of line) {
    const { text } = span;
    const fits = width(text) < left;
    const kept = fits ? text : cut(`${text} `, left);
    if (kept !== "") out.push({ ...span, text: kept });
    left -= width(kept);
    if (!fits) break;
  }
  return out;
}

/** Breaks a line into rows, keeping the styles; a blank at which it is broken is left out. */
export function wrapLine(spans: Line, cols: number): Line[] {
  let at = 0;
  return wrap(lineText(spans), Math.max(cols, 1)).map((row, n) => {
    const blank = n > 0 && row.length > 1 && row.startsWith(" ") ? 1 : 0;
    const part = partOf(spans, at + blank, at + row.length);
    at += row.length;
    return n === 0 ? part : joined(part, blank > 0);
  });
}

/** Marks a row as going on with the line above. @param blank whether a blank was left out between */
export function joined(row: Line, blank: boolean): Line {
  const [first = { text: "", style: "plain" }, ...rest] = row;
  return [{ ...first, joins: blank ? " " : "" }, ...rest];
}

/** Returns a piece that stands beside the text of a row. */
export function beside(text: string, style: Style): Span {
  return { text, style, beside: true };
}

/** The spans of a line between two offsets. */
function partOf(spans: Line, from: number, to: number): Line {
  let at = 0;
  return spans.flatMap((span) => {
    const text = span.text.slice(Math.max(from - at, 0), Math.max(to - at, 0));
    at += span.text.length;
    return text === "" ? [] : [{ ...span, text }];
  });
}
