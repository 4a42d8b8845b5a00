/** Keys as in vi, for those who have turned them on: a mode to write in, and one of commands. */
import { CHIP, CHIPS } from "./chips.ts";
import { insertMarked, move, moveLine, recall, replace, targetOf } from "./input.ts";
import type { Input } from "./input_state.ts";
import { redo, undo } from "./input_undo.ts";
import type { Key } from "./keys.ts";
import type { Model } from "./model.ts";
import { graphemes } from "./text.ts";

const COUNT_MAX = 1_000;
const KILLS_MAX = 60;
/** A word of vi: letters, digits and `_`; other characters in a row; a chip. */
const WORD = `(?:${CHIP}|[\\p{L}\\p{N}_]+|[^\\s\\p{L}\\p{N}_${CHIPS}]+)`;
const TO_NEXT = new RegExp(`^${WORD}?\\s*`, "u");
const TO_END = new RegExp(`^\\s*${WORD}?`, "u");
const BEFORE = new RegExp(`${WORD}\\s*$`, "u");
/** A command: count, operator, count, and what it is about. */
const COMMAND = /^([1-9]\d*)?([dcy])?([1-9]\d*)?(.*)$/su;

/** Begins to use the keys, or no longer. */
export function useVi(model: Model, on: boolean): void {
  model.vi = on ? { mode: "insert", typed: "" } : undefined;
}

/** Handles Esc. @returns false if it does what it does without vi */
export function viEscape({ vi, focus, input, search }: Model): boolean {
  if (vi === undefined || focus !== "input" || search !== undefined) return false;
  if (vi.mode === "normal") {
    const typed = vi.typed !== "";
    vi.typed = "";
    return typed;
  }
  vi.mode = "normal";
  if (input.cursor > targetOf(input, "line_start")) move(input, "left");
  return true;
}

/** The next message begins to be written. */
export function viSent({ vi }: Model): void {
  if (vi !== undefined) Object.assign(vi, { mode: "insert", typed: "" });
}

/** Handles a key of the command mode. @returns false for a key that does what it does without vi */
export function inVi(model: Model, key: Key): boolean {
  const { vi, input } = model;
  if (vi?.mode !== "normal" || key.type === "paste") return false;
  if (key.type === "named") {
    if (key.name === "ctrl-r") again(model, 1, () => redo(input), "nothing to redo in the message");
    else if (key.name === "backspace") move(input, "left");
    else return false;
    stayOnText(input);
    return true;
  }
  vi.typed += key.text;
  const [, first = "1", operator, second = "1", rest] = COMMAND.exec(vi.typed)!;
  const count = Math.min(Number(first) * Number(second), COUNT_MAX);
  const done = operator === undefined
    ? command(model, rest, count)
    : operate(model, operator as "d" | "c" | "y", rest, count);
  if (done) vi.typed = "";
  if (vi.mode === "normal") stayOnText(input);
  return true;
}

/** Carries out a command without an operator. @returns false while it is not complete */
function command(model: Model, name: string, count: number): boolean {
  const { input } = model;
  const vi = model.vi!;
  if (name === "" || name === "r" || name === "g") return false;
  const to = motion(input, name, count);
  if (to !== undefined) {
    input.cursor = to;
    return true;
  }
  const write = () => void (vi.mode = "insert");
  if (/^r./su.test(name)) replaceCharacters(input, name.slice(1), count);
  switch (name) {
    case "j":
    case "k": {
      const by = name === "j" ? 1 : -1;
      for (let n = 0; n < count; n++) if (!moveLine(input, by)) recall(model, by);
      break;
    }
    case "gg":
      input.cursor = 0;
      break;
    case "G":
      input.cursor = input.text.length;
      break;
    case "x":
      cutOut(input, input.cursor, motion(input, "l", count)!);
      break;
    case "X":
      cutOut(input, motion(input, "h", count)!, input.cursor);
      break;
    case "D":
    case "C":
      cutOut(input, input.cursor, targetOf(input, "line_end"));
      if (name === "C") write();
      break;
    case "s":
      cutOut(input, input.cursor, motion(input, "l", count)!);
      write();
      break;
    case "S":
      return operate(model, "c", "c", count);
    case "Y":
      return operate(model, "y", "y", count);
    case "i":
      write();
      break;
    case "a":
      if (input.cursor < targetOf(input, "line_end")) move(input, "right");
      write();
      break;
    case "I":
      input.cursor = motion(input, "^", 1)!;
      write();
      break;
    case "A":
      move(input, "line_end");
      write();
      break;
    case "o":
      move(input, "line_end");
      insertMarked(input, "\n");
      write();
      break;
    case "O":
      move(input, "line_start");
      insertMarked(input, "\n");
      move(input, "left");
      write();
      break;
    case "p":
    case "P":
      putBack(input, name, count);
      break;
    case "u":
      again(model, count, () => undo(input), "nothing to undo in the message");
      break;
  }
  return true;
}

function again(model: Model, count: number, step: () => boolean, none: string): void {
  for (let n = 0; n < count; n++) {
    if (step()) continue;
    if (n === 0) model.notice = none;
    return;
  }
}

/** Carries out an operator on what a motion passes, or on lines. @returns as `command` */
function operate(model: Model, operator: "d" | "c" | "y", name: string, count: number): boolean {
  const { input } = model;
  if (name === "" || name === "g") return false;
  const { cursor } = input;
  let [from, to] = [cursor, cursor];
  const whole = name === operator;
  if (whole) {
    from = targetOf(input, "line_start");
    for (let n = 0; n < count; n++) {
      to = Math.min(
        targetOf({ ...input, cursor: n === 0 ? cursor : to }, "line_end") + 1,
        input.text.length + 1,
      );
    }
  } else {
    const at = passed(input, operator, name, count);
    if (at === undefined) return true;
    [from, to] = [Math.min(at, cursor), Math.max(at, cursor)];
  }
  const { text } = input;
  const lines = `${text.slice(from, Math.min(to, text.length)).replace(/\n$/, "")}\n`;
  keep(input, whole ? lines : text.slice(from, to));
  if (operator === "y") input.cursor = whole ? cursor : from;
  else if (!whole) replace(input, from, to, "");
  else if (operator === "c") replace(input, from, to - 1, "");
  // The last line goes with the break before it.
  else if (to > text.length) replace(input, Math.max(from - 1, 0), text.length, "");
  else replace(input, from, to, "");
  if (operator === "d" && whole) move(input, "line_start");
  if (operator === "c") model.vi!.mode = "insert";
  return true;
}

/** Where the motion of an operator ends; `w` stays on its line, and after `c` before the blanks. */
function passed(
  input: Input,
  operator: string,
  name: string,
  count: number,
): number | undefined {
  const { text, cursor } = input;
  if (name === "e" || (name === "w" && operator === "c" && /\S/.test(text[cursor] ?? " "))) {
    const last = motion(input, name === "w" ? "E" : "e", count)!;
    return targetOf({ ...input, cursor: last }, "right");
  }
  const to = motion(input, name, count);
  if (name !== "w" || to === undefined) return to;
  const end = targetOf(input, "line_end");
  return to > end && count === 1 ? Math.max(end, cursor) : to;
}

/** Where a motion ends; undefined for what is none. */
function motion(input: Input, name: string, count: number): number | undefined {
  let at = input.cursor;
  const once = () => {
    const here = { ...input, cursor: at };
    const { text } = input;
    switch (name) {
      case "h":
        return Math.max(targetOf(here, "left"), targetOf(here, "line_start"));
      case "l":
      case " ":
        return Math.min(targetOf(here, "right"), targetOf(here, "line_end"));
      case "w":
        return at + text.slice(at).match(TO_NEXT)![0].length;
      case "b": {
        const before = text.slice(0, at);
        return before.replace(BEFORE, "").length === before.length
          ? 0
          : before.replace(BEFORE, "").length;
      }
      case "e":
      case "E": {
        // `E` may stay on a word of one character.
        const from = name === "e" ? targetOf(here, "right") : at;
        const end = from + text.slice(from).match(TO_END)![0].length;
        return Math.max(targetOf({ ...input, cursor: end }, "left"), at);
      }
      case "0":
        return targetOf(here, "line_start");
      case "^": {
        const start = targetOf(here, "line_start");
        return start + text.slice(start).match(/^[^\S\n]*/)![0].length;
      }
      case "$":
        return targetOf(here, "line_end");
    }
  };
  for (let n = 0; n < count; n++) {
    const next = once();
    if (next === undefined) return undefined;
    if (next === at) break;
    at = next;
  }
  return at;
}

function replaceCharacters(input: Input, char: string, count: number): void {
  const { text, cursor } = input;
  const line = graphemes(text.slice(cursor, targetOf(input, "line_end")));
  if (line.length < count) return;
  const end = cursor + line.slice(0, count).join("").length;
  replace(input, cursor, end, char.repeat(count));
  move(input, "left");
}

function keep(input: Input, text: string): void {
  if (text === "") return;
  input.kills = [...input.kills, text].slice(-KILLS_MAX);
}

function cutOut(input: Input, from: number, to: number): void {
  keep(input, input.text.slice(from, to));
  replace(input, from, to, "");
}

/** Puts what was cut out last behind or before the cursor; whole lines below or above. */
function putBack(input: Input, name: "p" | "P", count: number): void {
  const text = input.kills.at(-1)?.repeat(count);
  if (text === undefined) return;
  if (text.endsWith("\n")) {
    const at = name === "P" ? targetOf(input, "line_start") : targetOf(input, "line_end");
    const lines = name === "P" ? text : `\n${text.slice(0, -1)}`;
    replace(input, at, at, lines);
    input.cursor = name === "P" ? at : at + 1;
    return;
  }
  const { text: whole, cursor } = input;
  const behind = name === "p" && cursor < whole.length && whole[cursor] !== "\n";
  if (behind) move(input, "right");
  insertMarked(input, text);
  move(input, "left");
}

/** In the command mode the cursor stands on a character, if its line has one. */
function stayOnText(input: Input): void {
  const { text, cursor } = input;
  const at_end = cursor === text.length || text[cursor] === "\n";
  if (at_end && cursor > targetOf(input, "line_start")) move(input, "left");
}
