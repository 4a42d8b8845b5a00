/** Editing the message: the cursor stands between graphemes. */
import type { Input, Model } from "./model.ts";
import { graphemes } from "./text.ts";

/** Maximum code units of a message. */
const INPUT_MAX = 1024 * 1024;
/** Code units around the cursor in which a grapheme is looked for. */
const NEAR = 64;
// deno-lint-ignore no-control-regex -- they are what is taken out
const UNTYPED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Inserts text at the cursor, without control characters other than tabs and line breaks.
 *
 * @returns false if not all of it fits.
 */
export function insert(input: Input, text: string): boolean {
  const plain = text.replace(/\r\n?/g, "\n").replace(UNTYPED, "");
  const room = INPUT_MAX - input.text.length;
  replace(input, input.cursor, input.cursor, plain.slice(0, room));
  return plain.length <= room;
}

/** Replaces the text from `start` to the cursor. */
export function replaceWord(input: Input, start: number, text: string): void {
  replace(input, start, input.cursor, text);
}

/** Empties the input. */
export function clear(input: Input): void {
  replace(input, 0, input.text.length, "");
  input.recalled = undefined;
}

function replace(input: Input, from: number, to: number, text: string): void {
  input.text = input.text.slice(0, from) + text + input.text.slice(to);
  input.cursor = from + text.length;
}

/** The cursor's target, by the name of the movement. */
const TARGETS = {
  left: ({ text, cursor }: Input) =>
    cursor - (graphemes(text.slice(Math.max(cursor - NEAR, 0), cursor)).at(-1) ?? "").length,
  right: ({ text, cursor }: Input) =>
    cursor + (graphemes(text.slice(cursor, cursor + NEAR))[0] ?? "").length,
  word_left: ({ text, cursor }: Input) =>
    text.slice(0, cursor).replace(/[\p{L}\p{N}_]+[^\p{L}\p{N}_]*$|[^\p{L}\p{N}_]+$/u, "").length,
  word_right: ({ text, cursor }: Input) =>
    cursor + text.slice(cursor).match(/^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u)![0].length,
  /** Like a shell's Ctrl-W: words end at blanks. */
  blank_left: ({ text, cursor }: Input) => text.slice(0, cursor).replace(/\S*\s*$/, "").length,
  line_start: ({ text, cursor }: Input) => text.slice(0, cursor).lastIndexOf("\n") + 1,
  line_end: ({ text, cursor }: Input) => {
    const end = text.indexOf("\n", cursor);
    return end < 0 ? text.length : end;
  },
};

export type Movement = keyof typeof TARGETS;

/** Moves the cursor. */
export function move(input: Input, movement: Movement): void {
  input.cursor = TARGETS[movement](input);
}

/** Deletes from the cursor to a movement's target. */
export function erase(input: Input, movement: Movement): void {
  const to = TARGETS[movement](input);
  replace(input, Math.min(to, input.cursor), Math.max(to, input.cursor), "");
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

/** Goes through the history; past its newest end is the draft. */
export function recall({ input, history }: Model, direction: -1 | 1): void {
  const at = (input.recalled ?? history.length) + direction;
  if (at < 0 || at > history.length) return;
  if (input.recalled === undefined) input.draft = input.text;
  const recalled = at === history.length ? undefined : at;
  replace(input, 0, input.text.length, recalled === undefined ? input.draft : history[recalled]);
  input.recalled = recalled;
}
