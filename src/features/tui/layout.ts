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

/** What {@linkcode LayMarkdown} returns. */
export interface LaidMarkdown {
  rows: Line[];
  /** Rows, and lines of the text, that stay as they are when the text grows. */
  final_rows: number;
  final_lines: number;
}

/** Lays out Markdown that may grow; `begins` if nothing stands above it. */
export type LayMarkdown = (text: string, cols: number, begins: boolean) => LaidMarkdown;

/** A longer block is laid out line by line: its layout would take too long at each piece of text. */
const BLOCK_MAX = 16 * 1024;

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
  /** Whether its blocks are laid out; otherwise its lines are. */
  in_blocks: boolean;
  /** Code units of the entry at the last layout of its blocks. */
  size: number;
}

export class Layouts {
  #laid = new WeakMap<Entry, Laid>();
  #markdown: LayMarkdown | undefined;

  /** Lays out answers as Markdown from now on. */
  useMarkdown(lay: LayMarkdown): void {
    this.#markdown = lay;
    this.#laid = new WeakMap();
  }

  /** The rows of an entry; the array is valid until the next call with this entry. */
  rows(entry: Entry, options: LayoutOptions): readonly Line[] {
    let laid = this.#laid.get(entry);
    const { cols, expanded } = options;
    if (
      laid === undefined || laid.epoch !== entry.epoch || laid.cols !== cols ||
      laid.expanded !== expanded
    ) {
      laid = entry.kind === "call" ? callRows(entry, options) : begin(entry, options);
      laid.in_blocks = entry.kind === "assistant" && !entry.plain && this.#markdown !== undefined;
      this.#laid.set(entry, laid);
    }
    if (laid.in_blocks) growBlocks(laid, entry, this.#markdown!);
    if (entry.kind !== "call" && !laid.in_blocks) grow(laid, entry);
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
  approval: ["  ", "↳ "],
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
    in_blocks: false,
    size: -1,
  };
}

/** Lays out the blocks that are not final. */
function growBlocks(laid: Laid, entry: Entry, lay: LayMarkdown): void {
  if (laid.size === entry.size) return;
  laid.size = entry.size;
  laid.rows.length -= laid.open_rows;
  const text = entry.lines.slice(laid.line).join("\n").normalize();
  const inner = Math.max(laid.cols - width(gutter(entry, true, laid.cols)), 1);
  const { rows, final_rows, final_lines } = lay(text, inner, laid.rows.length === 0);
  laid.line += final_lines;
  const rest = entry.lines.slice(laid.line).reduce((sum, it) => sum + it.length + 1, 0);
  laid.in_blocks = rest <= BLOCK_MAX;
  const kept = laid.in_blocks ? rows : rows.slice(0, final_rows);
  for (const row of kept) {
    const before = gutter(entry, laid.rows.length === 0, laid.cols);
    laid.rows.push(before === "" ? row : [{ text: before, style: "plain" }, ...row]);
  }
  laid.open_rows = kept.length - final_rows;
  if (!laid.in_blocks && laid.rows.length > 0) laid.rows.push([]);
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
    : line(shown, pending ? "dim" : entry.styles?.[laid.line] ?? STYLES[entry.kind]);
  // A long line of a question must not look like several.
  const before = gutter(entry, entry.kind === "approval" ? laid.begins : first, laid.cols);
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
