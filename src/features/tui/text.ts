/** Text as a terminal shows it: made harmless, measured, wrapped and cut in columns. */
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { visible, visibleLine } from "../../base/visible.ts";

/** How a piece of text looks; without colour all look alike. */
export type Style = "plain" | "dim" | "bold" | "cyan" | "green" | "red" | "yellow";

/** A piece of a line in one style. Its text has no control characters. */
export interface Span {
  text: string;
  style: Style;
}

/** One line of the screen, without its end. */
export type Line = readonly Span[];

const TAB = "    ";
/**
 * Text of a conversation with nothing hidden in it, in Unicode's composed form, in which it is
 * measured. Tabs become spaces, line ends stay.
 *
 * @param before what it follows.
 */
export function clean(text: string, before?: string): string {
  return untabbed(visible(text, { before })).normalize();
}

/** As {@linkcode clean}, for what must stay on one line. */
export function cleanLine(text: string): string {
  return visibleLine(text).normalize();
}

/** Text with spaces for its tabs. */
export function untabbed(text: string): string {
  return text.replaceAll("\t", TAB);
}

/** The beginning of text, with a note on how much is left out where it is longer. */
export function limited(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}\n[… ${text.length - max} more characters]`;
}

/** Columns that text takes. */
export function width(text: string): number {
  return stringWidth(text);
}

/** What a person takes for one character, in order. */
export function graphemes(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

/**
 * Breaks a line at words where it can. A character wider than `cols` stands alone.
 *
 * @param text one clean line.
 * @returns the rows; joined they are the text again.
 */
export function wrap(text: string, cols: number): string[] {
  return wrapAnsi(text, cols, { hard: true, trim: false }).split("\n");
}

/** The beginning of text that fits, with an ellipsis where something is left out. */
export function cut(text: string, cols: number): string {
  if (width(text) <= cols) return text;
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

/** No column's worth of text is looked for beyond so many code units. */
const GRAPHEME_MAX = 32;

/** A line in one style. */
export function line(text: string, style: Style = "plain"): Line {
  return [{ text, style }];
}

/** The text of a line. */
export function lineText(line: Line): string {
  return line.map(({ text }) => text).join("");
}

/** Cuts a line to what fits. */
export function cutLine(line: Line, cols: number): Line {
  if (width(lineText(line)) <= cols) return line;
  const out: Span[] = [];
  let left = cols;
  for (const { text, style } of line) {
    const fits = width(text) < left;
    const kept = fits ? text : cut(`${text} `, left);
    if (kept !== "") out.push({ text: kept, style });
    left -= width(kept);
    if (!fits) break;
  }
  return out;
}
