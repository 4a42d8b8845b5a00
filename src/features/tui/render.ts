/** Draws the model: lines for every row of the screen, none wider than it. */
import { titleOf } from "./approvals.ts";
import { arrange, type Arrangement, type Size } from "./arrange.ts";
import { helpRows } from "./help.ts";
import type { Layouts } from "./layout.ts";
import { menuRows } from "./menu.ts";
import { type Model, shownLane } from "./model.ts";
import { planLines, workLines } from "./panels.ts";
import { pickerRows } from "./picker_rows.ts";
import { type Window, windowOf } from "./scroll.ts";
import { statusLine, turnText } from "./status.ts";
import { cutLine, type Line, line, width } from "./text.ts";

export interface Screen {
  /** As many as the screen has rows. */
  lines: Line[];
  /** From 0; absent while the message does not take the keys. */
  cursor?: { row: number; col: number };
}

/** Whether the whole question is on the screen, or its end in the full view. */
export function showsQuestion(model: Model, size: Size, layouts: Layouts): boolean {
  const [approval] = model.approvals;
  if (approval === undefined || model.help || model.picker !== undefined) return false;
  // With the answers that are there once it counts as read.
  const read = { ...model, approvals: [{ ...approval, read: true }, ...model.approvals.slice(1)] };
  const { approval: rows, view } = arrange(read, size, layouts);
  if (model.approval_shown) return view.height > 0 && windowOf(model, view).at_end;
  return layouts.rows(approval.about, view).length <= rows.about;
}

/** Draws the whole screen. */
export function render(model: Model, size: Size, layouts: Layouts, moves = false): Screen {
  if (model.picker !== undefined) return renderPicker(model, size);
  const parts = arrange(model, size, layouts);
  const window = model.help ? helpWindow(model, parts) : windowOf(model, parts.view);
  const blank = Math.max(parts.view.height - window.rows.length, 0);
  const upper = [
    ...titleLines(model, parts),
    ...window.rows,
    ...Array<Line>(blank).fill([]),
    ...ruleLines(model, window, parts, moves),
    ...planLines(model, parts.plan),
    ...approvalLines(model, parts),
    ...workLines(model, parts.lanes, size.cols),
    ...menuRows(model, size.cols, parts.menu),
  ];
  const { input } = parts;
  const lines = [...upper, ...input.rows, ...parts.status > 0 ? [statusLine(model, size.cols)] : []]
    .slice(-size.rows)
    .map((it) => cutLine(it, size.cols));
  if (model.focus !== "input") return { lines };
  return {
    lines,
    cursor: { row: Math.min(upper.length + input.row, size.rows - 1), col: input.col },
  };
}

function renderPicker(model: Model, size: Size): Screen {
  const { cols } = size;
  const status = size.rows > 2 ? [statusLine(model, cols)] : [];
  const { rows, cursor } = pickerRows(model, { cols, rows: size.rows - status.length });
  return { lines: [...rows, ...status].map((it) => cutLine(it, cols)), cursor };
}

function helpWindow(model: Model, { view: { cols, height } }: Arrangement): Window {
  const rows = helpRows(model, cols);
  const from = Math.max(Math.min(model.help_row, rows.length - height), 0);
  return {
    rows: rows.slice(from, from + height),
    entries: [],
    at_end: from + height >= rows.length,
  };
}

function titleLines(model: Model, parts: Arrangement): Line[] {
  if (parts.title === 0) return [];
  const lane = shownLane(model);
  const text = model.help
    ? "help · Up, Down, PgDn scroll · another key closes"
    : model.page !== undefined
    ? `${model.page.title} · Esc goes back`
    : model.approval_shown
    ? "full request · v closes it"
    : `Esc goes back · lane ${lane?.status} · ${lane?.label}`;
  return [heading(text, parts.size.cols)];
}

function ruleLines(
  model: Model,
  window: Window,
  { rule, size }: Arrangement,
  moves: boolean,
): Line[] {
  if (rule === 0) return [];
  const more = window.at_end ? "" : "more below · End";
  const happens = turnText(model, moves, size.cols);
  return [heading([more, happens].filter(Boolean).join(" · "), size.cols)];
}

function heading(text: string, cols: number): Line {
  const label = text === "" ? "" : ` ${text} `;
  return line(`──${label}${"─".repeat(Math.max(cols - 2 - width(label), 0))}`, "dim");
}

function approvalLines(model: Model, { approval: rows, view }: Arrangement): Line[] {
  const [approval] = model.approvals;
  if (approval === undefined || rows.height === 0) return [];
  // If there is no room for both, the text matters more than the question.
  const alone = rows.about === 0 && !model.approval_shown;
  const question = line(`? ${alone ? approval.about.lines[0] : titleOf(model)}`, "warning");
  if (rows.height <= 1) return [question];
  const about = model.approval_shown ? [] : view.layouts.rows(approval.about, view);
  return [question, ...shownPart(about, rows.about), ...rows.answers].slice(0, rows.height);
}

/** The first rows of a question's text, and how many more there are. */
function shownPart(about: readonly Line[], room: number): readonly Line[] {
  if (about.length <= room) return about;
  const shown = Math.max(room - 1, 0);
  const more = line(`… ${about.length - shown} more lines: v shows them`, "warning");
  return [...about.slice(0, shown), more].slice(-room || Infinity);
}
