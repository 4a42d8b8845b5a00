/** The window onto the transcript: its rows, and how it moves. */
import type { LayoutOptions, Layouts } from "./layout.ts";
import { type Anchor, type Entry, type Model, shownEntries } from "./model.ts";
import { readsFrom, readsLine } from "./reads.ts";
import type { Line } from "./text.ts";

export interface View extends LayoutOptions {
  layouts: Layouts;
  height: number;
}

export interface Window {
  rows: Line[];
  /** Where its first row is from, if it has one. */
  top?: Anchor;
  entries: number[];
  /** Whether nothing comes below it. */
  at_end: boolean;
}

/** A row between two entries of different kinds. */
const GAP: Line = [];

/** Returns the current window. */
export function windowOf(model: Model, view: View): Window {
  if (model.scroll !== undefined) {
    const window = downFrom(model, view, model.scroll);
    if (!window.at_end) return window;
  }
  return downFrom(model, view, endAnchor(model, view));
}

/** Moves the window by rows; at the end it follows new ones. */
export function scrollBy(model: Model, view: View, by: number): void {
  const { top } = windowOf(model, view);
  if (top === undefined) return;
  const moved = step(model, view, top, by);
  model.scroll = moved;
  if (downFrom(model, view, moved).at_end) model.scroll = undefined;
}

/** Moves the window to the beginning. */
export function scrollToStart(model: Model, view: View): void {
  const [first] = shownEntries(model);
  if (first === undefined) return;
  model.scroll = { entry: first.id, row: 0 };
  if (downFrom(model, view, model.scroll).at_end) model.scroll = undefined;
}

/** The rows of an entry with the gap before it. */
function rowsOf(entries: readonly Entry[], at: number, view: View): readonly Line[] {
  const end = view.expanded ? undefined : readsFrom(entries, at);
  if (end === 0) return [];
  const rows = end === undefined
    ? view.layouts.rows(entries[at], view)
    : [readsLine(entries.slice(at, end), view.cols)];
  const before = entries[at - 1];
  const together = before === undefined ||
    (before.kind === entries[at].kind && before.kind !== "user" && before.kind !== "assistant");
  return together ? rows : [GAP, ...rows];
}

function downFrom(model: Model, view: View, anchor: Anchor | undefined): Window {
  const entries = shownEntries(model);
  if (anchor === undefined) return { rows: [], entries: [], at_end: true };
  const start = Math.max(entries.findIndex(({ id }) => id === anchor.entry), 0);
  const rows: Line[] = [];
  const seen: number[] = [];
  for (let at = start; at < entries.length; at++) {
    const own = rowsOf(entries, at, view);
    const from = at === start ? anchor.row : 0;
    const room = view.height - rows.length;
    const shown = own.slice(from, from + room);
    if (shown.length > 0) seen.push(entries[at].id);
    rows.push(...shown);
    if (own.length - from > room || (rows.length >= view.height && at < entries.length - 1)) {
      return { rows, top: anchor, entries: seen, at_end: false };
    }
  }
  return { rows, top: anchor, entries: seen, at_end: true };
}

/** The anchor from which the last rows fill the window. */
function endAnchor(model: Model, view: View): Anchor | undefined {
  const entries = shownEntries(model);
  if (entries.length === 0) return undefined;
  let left = view.height;
  for (let at = entries.length - 1; at >= 0; at--) {
    const { length } = rowsOf(entries, at, view);
    if (length >= left) return { entry: entries[at].id, row: length - left };
    left -= length;
  }
  return { entry: entries[0].id, row: 0 };
}

/** Moves an anchor by rows, within bounds. */
function step(model: Model, view: View, anchor: Anchor, by: number): Anchor {
  const entries = shownEntries(model);
  let at = Math.max(entries.findIndex(({ id }) => id === anchor.entry), 0);
  let row = anchor.row + by;
  while (row < 0 && at > 0) row += rowsOf(entries, --at, view).length;
  for (let own; row >= (own = rowsOf(entries, at, view).length) && at < entries.length - 1; at++) {
    row -= own;
  }
  return { entry: entries[at].id, row: Math.max(row, 0) };
}
