/** Draws the picker: a line to type in, the entries that fit, and what is known of the chosen one. */
import type { Size } from "./arrange.ts";
import { firstShown } from "./menu.ts";
import type { Model } from "./model.ts";
import { chosenOf, fittingChoices, type Picker } from "./picker.ts";
import { cut, graphemes, type Line, line, width, wrap } from "./text.ts";

/** A lower screen shows no preview. */
const PREVIEW_ROWS = 16;
/** A narrower screen shows no details. */
const DETAIL_COLS = 30;
const PROMPT = "› ";

/** The rows of a picker, all that the screen has but for its status, and the cursor's place. */
export function pickerRows(
  { picker }: Model,
  { cols, rows }: Size,
): { rows: Line[]; cursor: { row: number; col: number } } {
  const shown = picker!;
  const title = line(titleOf(shown, cols), "dim");
  const query = line(`${PROMPT}${tail(shown.query, cols - width(PROMPT) - 1)}`);
  const parts = partsOf(shown, { cols, rows });
  const { below, room } = parts;
  const head = parts.head > 1 ? [title, query] : [query];
  const list = listRows(shown, cols, room);
  const blank = Array<Line>(Math.max(room - list.length, 0)).fill([]);
  return {
    rows: [...head, ...list, ...blank, ...below],
    cursor: { row: head.length - 1, col: Math.min(width(query[0].text), cols - 1) },
  };
}

/** Index of the entry in a row of the screen, if one is there. */
export function pickerEntryAt(model: Model, size: Size, row: number): number | undefined {
  const picker = model.picker!;
  const rows = size.rows - (size.rows > 2 ? 1 : 0);
  const { head, room } = partsOf(picker, { ...size, rows });
  const { length } = fittingChoices(picker);
  const at = row - head;
  if (at < 0 || at >= Math.min(room, length) || picker.loading || picker.asked) return undefined;
  return firstShown(picker.at, room, length) + at;
}

function partsOf(picker: Picker, { cols, rows }: Size) {
  const height = Math.max(rows, 1);
  const head = height > 2 ? 2 : 1;
  const below = height >= PREVIEW_ROWS ? previewRows(picker, cols, Math.floor(height / 3)) : [];
  return { head, below, room: Math.max(height - head - below.length, 0) };
}

function titleOf(picker: Picker, cols: number): string {
  const { title, choices, loading, asked, query } = picker;
  const keys = asked === undefined ? "Enter chooses, Esc closes" : "Enter saves, Esc closes";
  const count = loading || asked !== undefined
    ? ""
    : query === ""
    ? ` · ${choices.length}`
    : ` · ${fittingChoices(picker).length} of ${choices.length}`;
  const text = `── ${title}${count} · ${keys} `;
  const short = width(text) <= cols ? text : `── ${title}${count} `;
  return cut(short + "─".repeat(Math.max(cols - width(short), 0)), cols);
}

/** The end of what is typed, as far as it fits. */
function tail(text: string, cols: number): string {
  const shown = graphemes(text);
  let room = Math.max(cols, 1);
  let from = shown.length;
  while (from > 0 && (room -= width(shown[from - 1])) >= 0) from--;
  return shown.slice(from).join("");
}

function listRows(picker: Picker, cols: number, room: number): Line[] {
  const { loading, problem, asked, at } = picker;
  if (problem !== undefined) {
    return wrap(problem, cols).slice(0, room).map((it) => line(it, "error"));
  }
  if (loading) return [line("  …", "dim")];
  if (asked !== undefined) {
    return asked.secret ? [line("  It is tested first, and shown nowhere.", "dim")] : [];
  }
  const fitting = fittingChoices(picker);
  if (fitting.length === 0) {
    return [line(picker.choices.length === 0 ? "  there is none" : "  nothing fits", "dim")];
  }
  const first = firstShown(at, room, fitting.length);
  const shown = fitting.slice(first, first + room);
  const widest = Math.max(...shown.map(({ label }) => width(label)));
  const column = Math.min(widest, Math.max(Math.floor(cols / 2), cols - DETAIL_COLS * 2));
  return shown.map(({ label, detail }, n) => {
    const here = first + n === at;
    const has_detail = detail !== undefined && cols >= DETAIL_COLS;
    const name = cut(label, has_detail ? column : Math.max(cols - 2, 1));
    const pad = " ".repeat(Math.max(column - width(name), 0) + 2);
    return [
      { text: here ? "▸ " : "  ", style: here ? "bold" : "dim" },
      { text: name, style: here ? "bold" : "plain" },
      { text: has_detail ? pad + detail : "", style: "dim" },
    ];
  });
}

function previewRows(picker: Picker, cols: number, height: number): Line[] {
  const { preview } = picker;
  if (preview === undefined || chosenOf(picker)?.session_id !== preview.of) return [];
  const rows = preview.lines.flatMap((text) => wrap(text, cols).slice(0, 3));
  if (rows.length === 0) return [];
  return [
    line("─".repeat(cols), "dim"),
    ...rows.slice(-(height - 1)).map((text) => line(text, text.startsWith("›") ? "plain" : "dim")),
  ];
}
