/** What the mouse does: it scrolls, and a click is the key for what it hits. */
import type { Arrangement } from "./arrange.ts";
import type { Effect } from "./effect.ts";
import { moveToPlace } from "./input_rows.ts";
import { inHelp, type PressContext, scroll, showLane } from "./keymap.ts";
import { firstShown, inMenu, openMenu } from "./menu.ts";
import type { Model } from "./model.ts";
import { inPicker } from "./picker_keys.ts";
import { pickerEntryAt } from "./picker_rows.ts";
import { clickAnswer } from "./question_keys.ts";
import { lineText } from "./text.ts";

/** A click, or a turn of the wheel, at a place of the screen from 0. */
export interface Point {
  row: number;
  col: number;
  /** Of the wheel: up or down; a click has none. */
  by: -1 | 0 | 1;
}

/** Rows for one turn of the wheel. */
const WHEEL_ROWS = 3;

/** Handles a click or the wheel. @returns the resulting actions */
export function point(
  model: Model,
  at: Point,
  parts: Arrangement,
  context: PressContext,
): Effect[] {
  if (at.by !== 0) return turnWheel(model, at.by, context);
  if (model.picker !== undefined) {
    const entry = pickerEntryAt(model, parts.size, at.row);
    if (entry === undefined) return [];
    model.picker.at = entry;
    return inPicker(model, { type: "named", name: "enter" });
  }
  const rows = at.row - (parts.size.rows - parts.status - parts.input.rows.length);
  if (rows >= 0) {
    model.focus = "input";
    const { cols } = parts.size;
    const height = Math.max(Math.floor(parts.size.rows / 3), 1);
    if (model.search === undefined) {
      moveToPlace(model.input, { row: rows, col: at.col }, cols, height);
    }
    return [];
  }
  const menu = openMenu(model);
  if (menu !== undefined && rows >= -parts.menu) {
    menu.at = firstShown(menu.at, parts.menu, menu.options.length) + rows + parts.menu;
    inMenu(model, "tab");
    return [];
  }
  const lane_row = rows + parts.menu + parts.lanes;
  if (lane_row >= 0 && lane_row < parts.lanes) return clickLane(model, lane_row, parts.lanes);
  const answer_row = lane_row + parts.approval.height;
  if (answer_row >= 0 && lane_row < 0) return clickQuestion(model, answer_row, parts);
  return [];
}

function turnWheel(
  model: Model,
  by: -1 | 1,
  context: PressContext,
): Effect[] {
  const key = by < 0 ? "up" : "down";
  if (model.picker !== undefined) {
    return inPicker(model, { type: "named", name: key });
  }
  if (model.help) {
    for (let n = 0; n < WHEEL_ROWS; n++) inHelp(model, { type: "named", name: key }, context);
    return [];
  }
  return scroll(model, context, by * WHEEL_ROWS);
}

function clickLane(model: Model, row: number, shown: number): Effect[] {
  const at = model.lanes.findIndex(({ lane_id }) => lane_id === model.lane_at);
  const lane = model.lanes[firstShown(at, shown, model.lanes.length) + row];
  return lane === undefined ? [] : showLane(model, lane.lane_id);
}

/** A click on an answer picks it, as its key does. */
function clickQuestion(
  model: Model,
  row: number,
  { approval }: Arrangement,
): Effect[] {
  model.focus = "approval";
  const answers = approval.answers;
  const shown = answers[row - (approval.height - answers.length)];
  const [, key] = shown === undefined
    ? []
    : /^\s*▸?\s*([0-9a-z])(?:\s|$)/.exec(lineText(shown)) ?? [];
  model.notice = undefined;
  return key === undefined ? [] : clickAnswer(model, key);
}
