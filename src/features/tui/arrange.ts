/** Divides the screen among its parts; on a small one the less important go first. */
import { answerRows } from "./answers.ts";
import { type ShownPart, shownPart } from "./chips.ts";
import type { LayoutOptions, Layouts } from "./layout.ts";
import { type Model, shownLane } from "./model.ts";
import { searchRows } from "./search.ts";
import type { View } from "./scroll.ts";
import { clean, type Line, type Span, width, wrap } from "./text.ts";

export interface Size {
  cols: number;
  rows: number;
}

/** For a screen of unknown size. */
export const DEFAULT_SIZE: Size = { cols: 80, rows: 24 };

/** Heights in rows, from top to bottom, and what was computed on the way. */
export interface Arrangement {
  size: Size;
  /** Names what replaces the transcript. */
  title: number;
  view: View;
  rule: number;
  plan: number;
  approval: QuestionRows;
  lanes: number;
  input: InputRows;
  status: number;
}

/** The rows of the first pending question. */
export interface QuestionRows {
  /** All of them: who asks, the text as far as it fits, and the answers. */
  height: number;
  /** Rows for the text. */
  about: number;
  answers: readonly Line[];
}

/** The visible rows of the message that is being typed. */
export interface InputRows {
  rows: Line[];
  /** The cursor's position among them. */
  row: number;
  col: number;
}

/** A lower screen has no lanes, rule and title. */
const ROOMY_ROWS = 8;
/** The part of the free rows that a question may take. */
const QUESTION_PART = 0.75;
/** With fewer rows for a question's text, its answers share one row. */
const ABOUT_MIN = 2;

/** Divides the screen. */
export function arrange(model: Model, size: Size, layouts: Layouts): Arrangement {
  const { cols, rows } = size;
  const roomy = rows >= ROOMY_ROWS;
  const status = rows > 1 ? 1 : 0;
  const input = inputRows(model, cols, Math.max(Math.floor(rows / 3), 1));
  const rule = roomy ? 1 : 0;
  const replaced = model.approval_shown || shownLane(model) !== undefined || model.help;
  const title = roomy && replaced ? 1 : 0;
  const panel = roomy && model.lanes.length > 1 ? model.lanes.length : 0;
  const lanes = Math.min(panel, Math.max(Math.floor(rows / 5), 1));
  const plan = roomy ? Math.min(model.plan.length, Math.max(Math.floor(rows / 5), 1)) : 0;
  const left = rows - status - input.rows.length - rule - title - lanes - plan;
  const options = { cols, expanded: model.expanded };
  const approval = questionRows(model, options, layouts, Math.max(left, 0));
  const height = Math.max(left - approval.height, 0);
  const view = { ...options, layouts, height };
  return { size, title, view, rule, plan, approval, lanes, input, status };
}

function questionRows(
  model: Model,
  options: LayoutOptions,
  layouts: Layouts,
  left: number,
): QuestionRows {
  const [first] = model.approvals;
  if (first === undefined) return { height: 0, about: 0, answers: [] };
  const max = Math.ceil(left * QUESTION_PART);
  // What replaces the transcript need not stand here too.
  const text = model.approval_shown ? 0 : layouts.rows(first.about, options).length;
  const below = answerRows(model, options.cols, false);
  const answers = max < 1 + Math.min(text, ABOUT_MIN) + below.length
    ? answerRows(model, options.cols, true)
    : below;
  const height = Math.min(1 + text + answers.length, max);
  return { height, about: Math.max(height - 1 - answers.length, 0), answers };
}

/** A row of the message in which labels of chips are bold. @param begin where the row begins */
function withBold(row: string, labels: ShownPart["labels"], begin: number): Line {
  const spans: Span[] = [];
  let at = 0;
  const upTo = (end: number, style: Span["style"]) => {
    const text = row.slice(at, Math.max(end, at));
    at += text.length;
    if (text !== "") spans.push({ text, style });
  };
  for (const [from, to] of labels) {
    upTo(from - begin, "plain");
    if (to > begin) upTo(to - begin, "bold");
  }
  upTo(row.length, "plain");
  return spans;
}

const PROMPT = "› ";

/** The rows around the cursor of the message that is being typed. */
function inputRows({ input, search }: Model, cols: number, height: number): InputRows {
  if (search !== undefined) return searchRows(search, cols, height);
  const prompt = cols > 10 ? PROMPT : "";
  const indent = width(prompt);
  const inner = Math.max(cols - indent, 1);
  // Lays out only the visible part, however much was pasted.
  const reach = cols * (height + 1);
  const shown = (from: number, to: number) =>
    shownPart(input, input.text.slice(Math.max(from, 0), to), clean);
  const { text: before, labels } = shown(input.cursor - reach, input.cursor);
  const { text: after, labels: later } = shown(input.cursor, input.cursor + reach);
  for (const [from, to] of later) labels.push([from + before.length, to + before.length]);
  /** Where each row begins in the text. */
  const begins: number[] = [];
  let begun = 0;
  const rows: string[] = [];
  let at = { row: 0, col: 0 };
  let left = before.length;
  for (const text of (before + after).split("\n")) {
    const wrapped = wrap(text, inner);
    for (const [index, row] of wrapped.entries()) {
      const ends = index === wrapped.length - 1;
      if (left >= 0 && (left < row.length || (left === row.length && ends))) {
        at = { row: rows.length, col: width(row.slice(0, left)) };
      }
      left -= row.length;
      rows.push(row);
      begins.push(begun);
      begun += row.length;
    }
    left -= 1;
    begun += 1;
  }
  // After a full row the cursor stands on the next.
  if (at.col >= inner && inner > 1) {
    at = { row: at.row + 1, col: 0 };
    rows.splice(at.row, 0, "");
    begins.splice(at.row, 0, 0);
  }
  const first = Math.min(Math.max(at.row - height + 1, 0), Math.max(rows.length - height, 0));
  const visible = rows.slice(first, first + height);
  return {
    rows: visible.map((row, index) => [
      { text: first + index === 0 ? prompt : " ".repeat(indent), style: "plain" },
      ...withBold(row, labels, begins[first + index]),
    ]),
    row: at.row - first,
    col: Math.min(at.col + indent, cols - 1),
  };
}
