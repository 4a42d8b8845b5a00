/** Text as a terminal shows it: made harmless, measured, wrapped and cut in columns. */
import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";

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
 * What shows nothing but changes what is read: direction marks, zero-width characters, the soft
 * hyphen and the tag block. U+200D stays, emoji are joined by it.
 */
const INVISIBLE =
  /[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
// deno-lint-ignore no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/g;
/** First of the characters that picture U+0000 to U+001F. */
const CONTROL_PICTURES = 0x2400;
const DELETE_PICTURE = "\u2421";

/**
 * Makes text from a model, a tool or a person harmless: escape sequences and invisible characters
 * go, other control characters are pictured, tabs become spaces. Line ends stay.
 *
 * @returns text in Unicode's composed form.
 */
export function clean(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll("\r\n", "\n")
    .replace(CONTROL, picture)
    .replace(INVISIBLE, "")
    .toWellFormed()
    .normalize();
}

/** As {@linkcode clean}, for what must stay on one line. */
export function cleanLine(text: string): string {
  return clean(text).replaceAll("\n", " ");
}

/** The beginning of text, with a note on how much is left out where it is longer. */
export function limited(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max).toWellFormed()}\n[… ${text.length - max} more characters]`;
}

function picture(char: string): string {
  const code = char.charCodeAt(0);
  if (char === "\t") return TAB;
  if (code < 0x20) return String.fromCharCode(CONTROL_PICTURES + code);
  return code === 0x7f ? DELETE_PICTURE : "\ufffd";
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
