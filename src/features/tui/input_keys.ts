/** Keys that edit the message. */
import { erase, insert, insertMarked, move, type Movement, replace } from "./input.ts";
import { redo, undo } from "./input_undo.ts";
import type { Effect } from "./effect.ts";
import type { Input } from "./input_state.ts";
import type { Model } from "./model.ts";

/** Killed texts that Alt-Y goes through. */
const KILLS_MAX = 60;

/** Deletes to a movement's target and keeps it for Ctrl-Y; kills in a row are one. */
function kill(input: Input, movement: Movement, last: Input["last"]): void {
  const { cursor } = input;
  const removed = erase(input, movement, "other");
  input.last = "kill";
  if (removed === "") return;
  const before = last === "kill" ? input.kills.pop() ?? "" : "";
  input.kills.push(input.cursor < cursor ? removed + before : before + removed);
  if (input.kills.length > KILLS_MAX) input.kills.shift();
}

/** Inserts the last killed text. */
function yank(input: Input): void {
  const text = input.kills.at(-1);
  if (text === undefined) return;
  insertMarked(input, text);
  input.last = "yank";
}

/** Puts the killed text before in the place of the one just inserted. */
function yankOlder(model: Model, last: Input["last"]): void {
  const { input } = model;
  const text = input.kills.at(-1);
  if (last !== "yank" || text === undefined) {
    model.notice = "Alt-Y follows Ctrl-Y";
    return;
  }
  input.kills.unshift(input.kills.pop()!);
  replace(input, input.cursor - text.length, input.cursor, input.kills.at(-1)!);
  input.last = "yank";
}

function takeBack(model: Model): void {
  if (!undo(model.input)) model.notice = "nothing to undo in the message";
}

function makeAgain(model: Model): void {
  if (!redo(model.input)) model.notice = "nothing to redo in the message";
}

type Edit = (model: Model, last: Input["last"]) => void;

const killing = (movement: Movement): Edit => ({ input }, last) => kill(input, movement, last);
const moving = (movement: Movement): Edit => ({ input }) => move(input, movement);
const lineBreak: Edit = ({ input }) => void insert(input, "\n", "type");

const EDITS: Record<string, Edit> = {
  "shift-enter": lineBreak,
  "ctrl-j": lineBreak,
  "left": moving("left"),
  "right": moving("right"),
  "ctrl-b": moving("left"),
  "ctrl-f": moving("right"),
  "ctrl-left": moving("word_left"),
  "ctrl-right": moving("word_right"),
  "alt-left": moving("word_left"),
  "alt-right": moving("word_right"),
  "alt-b": moving("word_left"),
  "alt-f": moving("word_right"),
  "home": moving("line_start"),
  "end": moving("line_end"),
  "ctrl-a": moving("line_start"),
  "ctrl-e": moving("line_end"),
  "backspace": ({ input }) => erase(input, "left"),
  "shift-backspace": ({ input }) => erase(input, "left"),
  "ctrl-h": ({ input }) => erase(input, "left"),
  "delete": ({ input }) => erase(input, "right"),
  "ctrl-w": killing("blank_left"),
  "ctrl-backspace": killing("word_left"),
  "alt-backspace": killing("word_left"),
  "alt-d": killing("word_right"),
  "ctrl-delete": killing("word_right"),
  "ctrl-u": killing("line_start"),
  "ctrl-k": killing("line_end"),
  "ctrl-y": ({ input }) => yank(input),
  "alt-y": yankOlder,
  // A terminal sends one byte for Ctrl with _, / and 7; the kitty protocol tells them apart.
  "ctrl-_": takeBack,
  "ctrl-shift-_": takeBack,
  "ctrl-shift--": takeBack,
  "ctrl-/": takeBack,
  "alt-_": makeAgain,
  "alt-shift-_": makeAgain,
  "ctrl-shift-z": makeAgain,
};

/** Keys after Ctrl-X. */
const CHORDS: Record<string, Edit | Effect> = {
  "ctrl-u": takeBack,
  "u": takeBack,
  "ctrl-e": { type: "editor" },
};

const EFFECTS: Record<string, Effect> = {
  "ctrl-g": { type: "editor" },
  "ctrl-v": { type: "paste_image" },
};

/** Begins to look for an earlier message. */
function search(model: Model): Effect[] {
  model.search = { query: "", found: [], at: 0, waits: true };
  return [{ type: "search", query: "" }];
}

/** Handles a named key, or a character after Ctrl-X. @returns undefined for another key */
export function editWith(model: Model, name: string): Effect[] | undefined {
  const { input } = model;
  const { last } = input;
  input.last = name === "ctrl-x" ? "ctrl-x" : undefined;
  if (name === "ctrl-r" && last !== "ctrl-x") return search(model);
  const known = last === "ctrl-x" ? CHORDS[name] : EFFECTS[name] ?? EDITS[name];
  if (typeof known === "function") known(model, last);
  else if (known !== undefined) return [known];
  return known === undefined && name !== "ctrl-x" ? undefined : [];
}
