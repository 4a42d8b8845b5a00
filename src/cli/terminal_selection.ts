/** What a person marks on the screen with the mouse, to copy it. */
import { graphemes, type Line, lineText, width } from "../features/tui/text.ts";

/** A place on the screen, from 0. */
export interface Place {
  row: number;
  col: number;
}

/** From where the button went down to where it is, in either direction. */
export interface Selected {
  from: Place;
  to: Place;
}

/** Longer text is not copied: terminals refuse it. */
const COPIED_MAX = 74_000;
// deno-lint-ignore no-control-regex -- they are what must not get through
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

const BLANKS = / +$/;

/** The places in the order of the text; the last one is included. */
function ordered({ from, to }: Selected): [Place, Place] {
  const is_before = from.row < to.row || (from.row === to.row && from.col <= to.col);
  return is_before ? [from, to] : [to, from];
}

/** A row of the screen with its marked part turned around in colour; undefined if none is marked. */
export function selectedIn(line: Line, row: number, selected: Selected): string | undefined {
  const parts = partsOf(lineText(line).replace(CONTROL, "\ufffd"), row, selected);
  if (parts === undefined) return undefined;
  const [before, marked, after] = parts;
  return `${before}\x1b[7m${marked === "" ? " " : marked}\x1b[27m${after}`;
}

/**
 * The marked text: lines as they were before the screen wrapped them, without what stands beside
 * them. Blanks at the ends of lines are left out.
 */
export function selectedText(rows: readonly Line[], selected: Selected): string {
  let text = "";
  let begun = false;
  for (const [row, line] of rows.entries()) {
    const found = markedOf(line, row, selected);
    if (found === undefined) continue;
    if (begun && found.joins !== undefined) text += found.joins;
    else if (begun) text = `${text.replace(BLANKS, "")}\n`;
    text += found.text;
    begun = true;
  }
  return text.trimEnd().slice(0, COPIED_MAX).toWellFormed();
}

/** The marked text of a row, and how it goes on with the one above if it does. */
function markedOf(
  line: Line,
  row: number,
  selected: Selected,
): { text: string; joins?: " " | "" } | undefined {
  const parts = partsOf(lineText(line), row, selected);
  if (parts === undefined) return undefined;
  const from = parts[0].length;
  const to = from + parts[1].length;
  const start = Math.max(line.findIndex(({ joins }) => joins !== undefined), 0);
  let at = 0;
  let text = "";
  for (const [n, span] of line.entries()) {
    const size = span.text.length;
    if (n >= start && !span.beside) {
      text += span.text.slice(Math.max(from - at, 0), Math.max(to - at, 0));
    }
    at += size;
  }
  return { text, joins: line[start]?.joins };
}

/** What stands before, in and after the marked part of a row. */
function partsOf(
  text: string,
  row: number,
  selected: Selected,
): [string, string, string] | undefined {
  const [first, last] = ordered(selected);
  if (row < first.row || row > last.row) return undefined;
  const from = row === first.row ? first.col : 0;
  const to = row === last.row ? last.col : Infinity;
  const parts: [string, string, string] = ["", "", ""];
  let col = 0;
  for (const char of graphemes(text)) {
    const size = width(char);
    parts[col + size <= from ? 0 : col <= to ? 1 : 2] += char;
    col += size;
  }
  return parts;
}

/** The sequence that puts a text into the clipboard (OSC 52). */
export function clipboardSequence(text: string): string {
  return `\x1b]52;c;${new TextEncoder().encode(text).toBase64()}\x07`;
}
