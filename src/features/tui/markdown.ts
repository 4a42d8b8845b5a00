/** Light styling of Markdown, without removing any text. */
import type { Line, Span, Style } from "./text.ts";

/** What carries over from one row to the next. */
export interface MarkdownState {
  fenced: boolean;
  heading: boolean;
  bold: boolean;
  code: boolean;
}

/** Returns the state before the first row. */
export function markdownStart(): MarkdownState {
  return { fenced: false, heading: false, bold: false, code: false };
}

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^#{1,6} /;
const MARK = /(\*\*|`)/;

/**
 * Styles one row of text.
 *
 * @param state of the previous row; becomes that of this row.
 * @param begins whether the row begins a line of the source.
 */
export function styleRow(row: string, state: MarkdownState, begins: boolean): Line {
  if (begins) {
    state.bold = state.code = false;
    state.heading = !state.fenced && HEADING.test(row);
    if (FENCE.test(row)) {
      state.fenced = !state.fenced;
      return [{ text: row, style: "dim" }];
    }
  }
  if (state.fenced) return [{ text: row, style: "code" }];
  if (state.heading) return [{ text: row, style: "bold" }];
  const out: Span[] = [];
  for (const part of row.split(MARK)) {
    if (part === "") continue;
    const before = styleOf(state);
    if (part === "`") state.code = !state.code;
    else if (part === "**" && !state.code) state.bold = !state.bold;
    // A mark looks like what it marks.
    const style = before === "plain" ? styleOf(state) : before;
    out.push({ text: part, style });
  }
  return out;
}

function styleOf({ code, bold }: MarkdownState): Style {
  return code ? "code" : bold ? "bold" : "plain";
}
