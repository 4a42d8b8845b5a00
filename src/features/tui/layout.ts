/**
 * Entries as rows of the screen. Layouts are kept, so that only the end of a growing answer is
 * wrapped again.
 */
import { markdownStart, type MarkdownState, styleRow } from "./markdown.ts";
import type { Entry } from "./model.ts";
import { cut, type Line, line, type Style, width, wrap } from "./text.ts";

/** Visible lines of a call's output, until expanded. */
const OUTPUT_SHOWN = 6;
/** Rows at the end of a growing line that are wrapped again: a word may move down. */
const OPEN_ROWS = 3;

export interface LayoutOptions {
  cols: number;
  /** Whether calls show all of their output. */
  expanded: boolean;
}

interface Laid extends LayoutOptions {
  epoch: number;
  rows: Line[];
  /** Rows at the end of `rows` that belong to `rest` and are not final. */
  open_rows: number;
  /** Index of the line that is being laid out. */
  line: number;
  /** Its code units so far. */
  taken: number;
  /** Its end that is not final. */
  rest: string;
  /** Whether `rest` begins the line. */
  begins: boolean;
  markdown: MarkdownState;
}

export class Layouts {
  readonly #laid = new WeakMap<Entry, Laid>();

  /** The rows of an entry; the array is valid until the next call with this entry. */
  rows(entry: Entry, options: LayoutOptions): readonly Line[] {
    let laid = this.#laid.get(entry);
    const { cols, expanded } = options;
    if (
      laid === undefined || laid.epoch !== entry.epoch || laid.cols !== cols ||
      laid.expanded !== expanded
    ) {
      laid = entry.kind === "call" ? callRows(entry, options) : begin(entry, options);
      this.#laid.set(entry, laid);
    }
    if (entry.kind !== "call") grow(laid, entry);
    return laid.rows;
  }
}

/** The margins of an entry's first and other rows. */
const GUTTERS: Record<Entry["kind"], readonly [string, string]> = {
  user: ["› ", "  "],
  assistant: ["  ", "  "],
  thought: ["~ ", "  "],
  call: ["● ", "  "],
  note: ["· ", "  "],
  problem: ["! ", "  "],
  lane: ["", ""],
  approval: ["  ", "  "],
};
const STYLES: Record<Entry["kind"], Style> = {
  user: "bold",
  assistant: "plain",
  thought: "dim",
  call: "plain",
  note: "dim",
  problem: "red",
  lane: "plain",
  approval: "plain",
};
/** A narrower screen has no gutters. */
const GUTTER_COLS = 16;

/** Before a message that the model has not seen yet. */
const WAITS = { queue: "(queued) ", steer: "(steers) " };

function gutter(entry: Entry, first: boolean, cols: number): string {
  if (cols < GUTTER_COLS) return "";
  const before = GUTTERS[entry.kind][first ? 0 : 1];
  if (entry.waits !== true) return before;
  const mark = WAITS[entry.delivery ?? "queue"];
  return first ? `${before}${mark}` : before.padEnd(before.length + mark.length);
}

function begin(entry: Entry, options: LayoutOptions): Laid {
  return {
    ...options,
    epoch: entry.epoch,
    rows: [],
    open_rows: 0,
    line: 0,
    taken: 0,
    rest: "",
    begins: true,
    markdown: markdownStart(),
  };
}

function grow(laid: Laid, entry: Entry): void {
  for (;; laid.line++) {
    const text = entry.lines[laid.line];
    const last = laid.line === entry.lines.length - 1;
    if (laid.taken < text.length || laid.begins) {
      laid.rest = (laid.rest + text.slice(laid.taken)).normalize();
      laid.taken = text.length;
      layRest(laid, entry, last);
    } else if (!last) layRest(laid, entry, false);
    if (last) return;
    laid.open_rows = laid.taken = 0;
    laid.rest = "";
    laid.begins = true;
  }
}

/** Wraps the end of a line. @param open whether it may grow. */
function layRest(laid: Laid, entry: Entry, open: boolean): void {
  laid.rows.length -= laid.open_rows;
  const inner = Math.max(laid.cols - width(gutter(entry, true, laid.cols)), 1);
  const rows = wrap(laid.rest, inner);
  const final = open ? Math.max(rows.length - OPEN_ROWS, 0) : rows.length;
  for (const row of rows.slice(0, final)) {
    laid.rows.push(styled(laid, entry, row, laid.markdown));
    laid.begins = false;
    laid.rest = laid.rest.slice(row.length);
  }
  const begins = laid.begins;
  const markdown = { ...laid.markdown };
  for (const row of rows.slice(final)) {
    laid.rows.push(styled(laid, entry, row, markdown));
    laid.begins = false;
  }
  laid.begins = begins;
  laid.open_rows = rows.length - final;
}

function styled(laid: Laid, entry: Entry, row: string, markdown: MarkdownState): Line {
  const first = laid.rows.length === 0;
  const pending = entry.client_message_id !== undefined || entry.waits === true;
  // The blank at which a line was broken.
  const shown = laid.begins ? row : row.replace(/^ /, "");
  const body = entry.kind === "assistant"
    ? styleRow(shown, markdown, laid.begins)
    : line(shown, pending ? "dim" : STYLES[entry.kind]);
  const before = gutter(entry, first, laid.cols);
  return before === "" ? body : [{ text: before, style: STYLES[entry.kind] }, ...body];
}

/** A call: its title, changes and output; a part of each unless expanded. */
function callRows(entry: Entry, options: LayoutOptions): Laid {
  const { cols, expanded } = options;
  const { ok, lines: [title, ...rest], edit_lines = 0 } = entry;
  const mark = ok === undefined ? "yellow" : ok ? "green" : "red";
  const rows: Line[] = [[
    { text: gutter(entry, true, cols), style: mark },
    { text: cut(title, Math.max(cols - 2, 1)), style: "plain" },
  ]];
  const inner = Math.max(cols - 4, 1);
  const part = (texts: readonly string[], head: string, styleOf: (text: string) => Style) => {
    const shown = expanded ? texts : texts.slice(0, OUTPUT_SHOWN);
    const first = rows.length;
    for (const text of shown) {
      for (const row of expanded ? wrap(text, inner) : [cut(text, inner)]) {
        const before = rows.length > first ? "    " : head;
        rows.push([{ text: before, style: mark }, { text: row, style: styleOf(text) }]);
      }
    }
    const hidden = texts.length - shown.length;
    if (hidden > 0) rows.push(line(`    … ${hidden} more lines (Ctrl-O)`, "dim"));
  };
  part(rest.slice(0, edit_lines), "    ", editStyle);
  part(rest.slice(edit_lines), ok === false ? "  └!" : "  └ ", () => "dim");
  return { ...begin(entry, options), rows };
}

function editStyle(text: string): Style {
  return text.startsWith("-") ? "red" : text.startsWith("+") ? "green" : "dim";
}
