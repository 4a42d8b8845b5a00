/** Divides the screen among its parts; on a small one the less important go first. */
import { answerRows } from "./answers.ts";
import { inputRows } from "./input_rows.ts";
import type { InputRows } from "./input_state.ts";
import type { LayoutOptions, Layouts } from "./layout.ts";
import { MENU_ROWS, openMenu } from "./menu.ts";
import { type Model, shownLane } from "./model.ts";
import { planRows, workRows } from "./panels.ts";
import type { View } from "./scroll.ts";
import type { Line } from "./text.ts";

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
  /** What completes a word. */
  menu: number;
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
  const replaced = model.approval_shown || shownLane(model) !== undefined || model.help ||
    model.page !== undefined;
  const title = roomy && replaced ? 1 : 0;
  const panel = roomy ? workRows(model) : 0;
  const lanes = Math.min(panel, Math.max(Math.floor(rows / 5), 1));
  const plan = roomy ? Math.min(planRows(model), Math.max(Math.floor(rows / 5), 1)) : 0;
  const offered = openMenu(model)?.options.length ?? 0;
  const menu = Math.min(offered, MENU_ROWS, Math.max(Math.floor(rows / 3), 1));
  const left = rows - status - input.rows.length - rule - title - lanes - plan - menu;
  const options = { cols, expanded: model.expanded };
  const approval = questionRows(model, options, layouts, Math.max(left, 0));
  const height = Math.max(left - approval.height, 0);
  const view = { ...options, layouts, height };
  return { size, title, view, rule, plan, approval, lanes, menu, input, status };
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
