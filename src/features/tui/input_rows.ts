/** The message that is being typed, as rows of the screen, and what a click in them means. */
import { type ShownPart, shownPart } from "./chips.ts";
import type { Input, InputRows } from "./input_state.ts";
import type { Model } from "./model.ts";
import { searchRows } from "./search.ts";
import { beside, clean, graphemes, joined, type Line, type Span, width, wrap } from "./text.ts";

const PROMPT = "› ";

/** The rows around the cursor. @param height at most as many */
export function inputRows({ input, search }: Model, cols: number, height: number): InputRows {
  if (search !== undefined) return searchRows(search, cols, height);
  const prompt = promptOf(cols);
  const indent = width(prompt);
  const { rows, begins, labels, at, first } = laidOut(input, cols, height);
  return {
    rows: rows.slice(first, first + height).map((row, index) => {
      const n = first + index;
      const shown = withBold(row, labels, begins[n]);
      // After a line break begins one further on.
      const goes_on = n > 0 && begins[n] === begins[n - 1] + rows[n - 1].length;
      return [
        beside(n === 0 ? prompt : " ".repeat(indent), "plain"),
        ...goes_on ? joined(shown, false) : shown,
      ];
    }),
    row: at.row - first,
    col: Math.min(at.col + indent, cols - 1),
  };
}

/** Moves the cursor to a place of the rows, as far as there is text. */
export function moveToPlace(
  input: Input,
  place: { row: number; col: number },
  cols: number,
  height: number,
): void {
  const { rows, begins, first, from, to } = laidOut(input, cols, height);
  const row = Math.min(first + place.row, rows.length - 1);
  const col = Math.max(place.col - width(promptOf(cols)), 0);
  let wanted = begins[row];
  let seen = 0;
  for (const char of graphemes(rows[row])) {
    seen += width(char);
    if (seen > col) break;
    wanted += char.length;
  }
  input.cursor = from;
  let shown = 0;
  for (const char of graphemes(input.text.slice(from, to))) {
    shown += char === "\n" ? 1 : shownPart(input, char, clean).text.length;
    if (shown > wanted) break;
    input.cursor += char.length;
  }
}

function promptOf(cols: number): string {
  return cols > 10 ? PROMPT : "";
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

/** Lays out the part around the cursor, however much was pasted. */
function laidOut(input: Input, cols: number, height: number) {
  const inner = Math.max(cols - width(promptOf(cols)), 1);
  const reach = cols * (height + 1);
  const from = Math.max(input.cursor - reach, 0);
  const to = Math.min(input.cursor + reach, input.text.length);
  const { text: before, labels } = shownPart(input, input.text.slice(from, input.cursor), clean);
  const { text: after, labels: later } = shownPart(
    input,
    input.text.slice(input.cursor, to),
    clean,
  );
  for (const [start, end] of later) labels.push([start + before.length, end + before.length]);
  const rows: string[] = [];
  /** Where each row begins in the shown text. */
  const begins: number[] = [];
  let at = { row: 0, col: 0 };
  let left = before.length;
  let begun = 0;
  for (const text of (before + after).split("\n")) {
    const wrapped = wrap(text, inner);
    for (const [index, row] of wrapped.entries()) {
      const is_last = index === wrapped.length - 1;
      if (left >= 0 && (left < row.length || (left === row.length && is_last))) {
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
    begins.splice(at.row, 0, begins[at.row] ?? begun - 1);
  }
  const first = Math.min(Math.max(at.row - height + 1, 0), Math.max(rows.length - height, 0));
  return { rows, begins, labels, at, first, from, to };
}
