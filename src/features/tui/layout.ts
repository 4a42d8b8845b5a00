/**
 * Entries as rows of the screen. Layouts are kept, so that only the end of a growing answer is
 * wrapped again.
 */
import { markdownStart, type MarkdownState, styleRow } from "./markdown.ts";
import type { Entry } from "./model.ts";
import { changeRows, type ColourCode, diffRows } from "./diff_layout.ts";
import { lookedLine } from "./looks.ts";
import {
  beside,
  cut,
  cutLine,
  joined,
  type Line,
  line,
  type Style,
  width,
  wrap,
  wrapLine,
} from "./text.ts";

/** Visible lines of a call's output, until expanded. */
const OUTPUT_SHOWN = 6;
/** Visible lines of a call's changes, until expanded. */
const EDITS_SHOWN = 24;
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
  #colour: ColourCode | undefined;

  /** Lays out answers as Markdown from now on. */
  useMarkdown(lay: LayMarkdown, colour?: ColourCode): void {
    this.#markdown = lay;
    this.#colour = colour;
    this.#laid = new WeakMap();
  }

  /** The rows of an entry; the array is valid until the next call with this entry. */
  rows(entry: Entry, options: LayoutOptions): readonly Line[] {
    let laid = this.#laid.get(entry);
    const { cols, expanded } = options;
    if (entry.kind === "thought" && !expanded) return [thoughtRow(entry, cols)];
    if (
      laid === undefined || laid.epoch !== entry.epoch || laid.cols !== cols ||
      laid.expanded !== expanded
    ) {
      laid = entry.kind === "call"
        ? callRows(entry, options, this.#colour)
        : entry.kind === "approval"
        ? questionRows(entry, options, this.#colour)
        : begin(entry, options);
      laid.in_blocks = entry.kind === "assistant" && !entry.plain && this.#markdown !== undefined;
      this.#laid.set(entry, laid);
    }
    if (laid.in_blocks) growBlocks(laid, entry, this.#markdown!);
    if (!STATIC.has(entry.kind) && !laid.in_blocks) grow(laid, entry);
    return laid.rows;
  }
}

/** Entries that do not grow at their end. */
const STATIC: ReadonlySet<Entry["kind"]> = new Set(["call", "approval"]);

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
  problem: "error",
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

/** Reasoning in one row: its last line while it lasts, then how long it took, and its first line. */
function thoughtRow(entry: Entry, cols: number): Line {
  const { took, lines } = entry;
  const said = took === undefined ? lines.findLast((it) => it !== "") ?? "" : lines[0];
  const text = took ? `${took}: ${said}` : said;
  const before = gutter(entry, true, cols);
  return line(`${before}${cut(text, Math.max(cols - width(before), 1))}`, "dim");
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
    laid.rows.push(before === "" ? row : [beside(before, "plain"), ...row]);
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
    laid.rows.push(styled(laid, entry, row, laid.markdown, laid.taken - laid.rest.length));
    laid.begins = false;
    laid.rest = laid.rest.slice(row.length);
  }
  const begins = laid.begins;
  const markdown = { ...laid.markdown };
  let from = laid.taken - laid.rest.length;
  for (const row of rows.slice(final)) {
    laid.rows.push(styled(laid, entry, row, markdown, from));
    from += row.length;
    laid.begins = false;
  }
  laid.begins = begins;
  laid.open_rows = rows.length - final;
}

/** @param from where the row begins in its line */
function styled(
  laid: Laid,
  entry: Entry,
  row: string,
  markdown: MarkdownState,
  from: number,
): Line {
  const first = laid.rows.length === 0;
  const pending = entry.client_message_id !== undefined || entry.waits === true;
  // The blank at which a line was broken.
  const shown = laid.begins ? row : row.replace(/^ /, "");
  const body = entry.kind === "assistant" ? styleRow(shown, markdown, laid.begins) : lookedLine(
    entry,
    laid.line,
    shown,
    pending ? "dim" : STYLES[entry.kind],
    from + row.length - shown.length,
  );
  const own = laid.begins ? body : joined(body, shown !== row);
  const before = gutter(entry, first, laid.cols);
  return before === "" ? own : [beside(before, STYLES[entry.kind]), ...own];
}

/** A question: its lines as they are; what is left of a long one must not look like another. */
function questionRows(entry: Entry, options: LayoutOptions, colour?: ColourCode): Laid {
  const { cols } = options;
  const before = gutter(entry, true, cols);
  const inner = Math.max(cols - width(before), 1);
  const more = gutter(entry, false, cols);
  const rows = entry.lines.flatMap((text, n): Line[] => {
    const diff = entry.diffs?.[n];
    // A question that is too long is cut, perhaps in a line.
    if (diff !== undefined && text === `${diff.margin}${diff.mark} ${diff.text}`) {
      return diffRows(diff, { cols: inner, colour, more: "↳ " })
        .map((row) => before === "" ? row : [beside(before, "plain"), ...row]);
    }
    return wrap(text, inner).map((row, at): Line => {
      const shown = line(at === 0 ? row : row.replace(/^ /, ""), entry.styles?.[n] ?? "plain");
      const own = at === 0 ? shown : joined(shown, row.startsWith(" "));
      const margin = at === 0 ? before : more;
      return margin === "" ? own : [beside(margin, "plain"), ...own];
    });
  });
  return { ...begin(entry, options), rows };
}

/** A call: its title, changes and output; a part of each unless expanded. */
function callRows(entry: Entry, options: LayoutOptions, colour?: ColourCode): Laid {
  const { cols, expanded } = options;
  const { ok, lines: [title, ...rest], edit_lines = 0 } = entry;
  const mark = ok === undefined ? "warning" : ok ? "success" : "error";
  const rows: Line[] = [[
    beside(gutter(entry, true, cols), mark),
    { text: cut(title, Math.max(cols - 2, 1)), style: "plain" },
  ]];
  const indent = cols < GUTTER_COLS ? "" : "    ";
  const inner = Math.max(cols - indent.length, 1);
  const more = (hidden: number) => {
    if (hidden > 0) rows.push(line(`${indent}… ${hidden} more lines (Ctrl-O)`, "dim"));
  };
  const edits = edit_lines === 0 || entry.asked ? [] : changeRows(entry, { cols: inner, colour });
  const shown_edits = expanded ? edits : edits.slice(0, EDITS_SHOWN);
  for (const row of shown_edits.flat()) rows.push([beside(indent, "plain"), ...row]);
  more(edits.length - shown_edits.length);
  const output = rest.slice(edit_lines);
  const shown = expanded ? output : output.slice(0, OUTPUT_SHOWN);
  const head = indent === "" ? "" : ok === false ? "  └!" : "  └ ";
  const first = rows.length;
  for (const [n, text] of shown.entries()) {
    const whole = lookedLine(entry, 1 + edit_lines + n, text, "dim");
    for (const row of expanded ? wrapLine(whole, inner) : [cutLine(whole, inner)]) {
      const before = rows.length > first ? indent : head;
      rows.push([beside(before, mark), ...row]);
    }
  }
  more(output.length - shown.length);
  return { ...begin(entry, options), rows };
}
