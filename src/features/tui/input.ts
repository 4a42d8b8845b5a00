/** Editing the message: the cursor stands between graphemes, and a chip is one of them. */
import { CHIP, chipFor, CHIPS, expanded, isLong, plainText, sizeOf } from "./chips.ts";
import type { EditKind, Input } from "./input_state.ts";
import { recordEdit } from "./input_undo.ts";
import type { Key } from "./keys.ts";
import type { Model } from "./model.ts";
import { graphemes } from "./text.ts";

/** Maximum code units of a message, with what its chips stand for. */
export const INPUT_MAX = 1024 * 1024;
/** Code units around the cursor in which a grapheme is looked for. */
const NEAR = 64;

/**
 * Inserts text at the cursor, without control characters other than tabs and line breaks.
 *
 * @returns false if not all of it fits.
 */
export function insert(input: Input, text: string, kind: EditKind = "other"): boolean {
  const plain = plainText(text);
  const room = Math.max(INPUT_MAX - sizeOf(input), 0);
  replace(input, input.cursor, input.cursor, plain.slice(0, room), kind);
  return plain.length <= room;
}

/** Replaces the text from `start` to the cursor. */
export function replaceWord(input: Input, start: number, text: string): void {
  replace(input, start, input.cursor, text);
}

/** Inserts what was typed or pasted; long pasted text becomes a chip. @returns as `insert` */
export function insertKey(input: Input, key: Exclude<Key, { type: "named" }>): boolean {
  if (key.type === "character") return insert(input, key.text, "type");
  const text = plainText(key.text);
  if (!isLong(text)) return insert(input, text);
  const room = Math.max(INPUT_MAX - sizeOf(input), 0);
  insertMarked(input, chipFor(input, { kind: "text", text: text.slice(0, room) }));
  return text.length <= room;
}

/** Inserts text in which chips are their characters. */
export function insertMarked(input: Input, marked: string): void {
  replace(input, input.cursor, input.cursor, marked);
}

/** Replaces the whole message, with text in which chips are their characters. */
export function setMarked(input: Input, marked: string): void {
  replace(input, 0, input.text.length, marked);
}

/** Empties the input. */
export function clear(input: Input): void {
  replace(input, 0, input.text.length, "");
  input.recalled = undefined;
}

/** Replaces a part of the message, which undo brings back. */
export function replace(
  input: Input,
  from: number,
  to: number,
  inserted: string,
  kind: EditKind = "other",
): void {
  const removed = input.text.slice(from, to);
  if (removed === "" && inserted === "") return;
  recordEdit(input, { at: from, removed, inserted, kind, cursor: input.cursor });
  input.text = input.text.slice(0, from) + inserted + input.text.slice(to);
  input.cursor = from + inserted.length;
}

const WORD = "\\p{L}\\p{N}_";
const WORD_BEFORE = new RegExp(
  `(?:[${WORD}]+|${CHIP})[^${WORD}${CHIPS}]*$|[^${WORD}${CHIPS}]+$`,
  "u",
);
const WORD_AFTER = new RegExp(`^[^${WORD}${CHIPS}]*(?:${CHIP}|[${WORD}]*)`, "u");
const BLANK_BEFORE = new RegExp(`(?:${CHIP}|[^\\s${CHIPS}]*)\\s*$`, "u");

/** The cursor's target, by the name of the movement. */
const TARGETS = {
  left: ({ text, cursor }: Input) =>
    cursor - (graphemes(text.slice(Math.max(cursor - NEAR, 0), cursor)).at(-1) ?? "").length,
  right: ({ text, cursor }: Input) =>
    cursor + (graphemes(text.slice(cursor, cursor + NEAR))[0] ?? "").length,
  word_left: ({ text, cursor }: Input) => text.slice(0, cursor).replace(WORD_BEFORE, "").length,
  word_right: ({ text, cursor }: Input) => cursor + text.slice(cursor).match(WORD_AFTER)![0].length,
  /** Like a shell's Ctrl-W: words end at blanks. */
  blank_left: ({ text, cursor }: Input) => text.slice(0, cursor).replace(BLANK_BEFORE, "").length,
  line_start: ({ text, cursor }: Input) => text.slice(0, cursor).lastIndexOf("\n") + 1,
  line_end: ({ text, cursor }: Input) => {
    const end = text.indexOf("\n", cursor);
    return end < 0 ? text.length : end;
  },
};

export type Movement = keyof typeof TARGETS;

/** Returns where a movement would set the cursor. */
export function targetOf(input: Input, movement: Movement): number {
  return TARGETS[movement](input);
}

/** Moves the cursor. */
export function move(input: Input, movement: Movement): void {
  input.cursor = TARGETS[movement](input);
}

/** Deletes from the cursor to a movement's target. @returns what was deleted */
export function erase(input: Input, movement: Movement, kind: EditKind = "erase"): string {
  const { cursor } = input;
  const to = TARGETS[movement](input);
  const from = Math.min(to, cursor);
  const removed = input.text.slice(from, Math.max(to, cursor));
  replace(input, from, from + removed.length, "", kind);
  return removed;
}

/**
 * Moves the cursor a line up or down in the same column.
 *
 * @returns false if there is no such line.
 */
export function moveLine(input: Input, direction: -1 | 1): boolean {
  const start = TARGETS.line_start(input);
  const column = graphemes(input.text.slice(start, input.cursor)).length;
  if (direction < 0 ? start === 0 : TARGETS.line_end(input) === input.text.length) return false;
  const line = direction < 0
    ? TARGETS.line_start({ ...input, cursor: start - 1 })
    : TARGETS.line_end(input) + 1;
  const end = TARGETS.line_end({ ...input, cursor: line });
  const before = graphemes(input.text.slice(line, end)).slice(0, column).join("");
  input.cursor = line + before.length;
  return true;
}

/** A longer text from elsewhere becomes a chip, so that keys stay fast. */
const RECALLED_LINES = 100;
const RECALLED_MAX = 10_000;

/** Returns a text of an earlier message with the chips that it had, or as one if it is huge. */
export function markedAgain(input: Input, text: string): string {
  const known = input.sent.findLast((it) => it.text === text);
  if (known !== undefined) return known.marked;
  const plain = plainText(text);
  if (!isLong(plain, RECALLED_LINES, RECALLED_MAX)) return plain;
  return chipFor(input, { kind: "text", text: plain });
}

/** Goes through the history; past its newest end is the draft. */
export function recall({ input, history }: Model, direction: -1 | 1): void {
  const at = (input.recalled ?? history.length) + direction;
  if (at < 0 || at > history.length) return;
  if (input.recalled === undefined) input.draft = input.text;
  const recalled = at === history.length ? undefined : at;
  setMarked(
    input,
    recalled === undefined ? input.draft : markedAgain(input, history[recalled]),
  );
  input.recalled = recalled;
  if (input.aside !== undefined && expanded(input, input.text) === input.aside) {
    input.aside = undefined;
  }
}

/** Returns what the person is writing: while the history is browsed, what was written before. */
export function written({ input, history }: Model): string {
  const { text, recalled, draft, aside } = input;
  if (text === "" && aside !== undefined) return aside;
  const untouched = recalled !== undefined && expanded(input, text) === history[recalled];
  return expanded(input, untouched ? draft : text, "paths");
}
