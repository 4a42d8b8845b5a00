/** The menu below the transcript that completes a word of the message: files, commands, skills. */
import { fuzzyScore } from "../../base/fuzzy.ts";
import { type Token, tokenAt } from "../../base/mention.ts";
import type { Suggestion } from "../chat_commands/suggestions.ts";
import type { Effect } from "./effect.ts";
import { replaceWord } from "./input.ts";
import type { Menu, Model } from "./model.ts";
import { cleanLine, cut, type Line, width } from "./text.ts";

/** Entries on the screen at once. */
export const MENU_ROWS = 8;
/** A narrower menu has no details. */
const DETAIL_COLS = 40;

/** Looks at the word before the cursor. @returns what to ask the daemon, if it is another word. */
export function lookAtWord(model: Model): Effect[] {
  const { input, menu, menu_closed } = model;
  const token = tokenAt(input.text, input.cursor);
  if (token === undefined) {
    model.menu = model.menu_closed = undefined;
    return [];
  }
  if (menu_closed === token.start) return [];
  model.menu_closed = undefined;
  if (menu !== undefined && sameWord(menu.token, token)) return [];
  const options = menu === undefined ? [] : stillFitting(menu, token);
  model.menu = { token, options, at: 0, waits: true };
  return [{ type: "suggest", token }];
}

/**
 * The options of the word before that fit what it has become, best first, until the daemon has
 * answered: Enter must not take one that does not fit what was typed.
 */
function stillFitting({ token: { kind, start }, options }: Menu, now: Token): Suggestion[] {
  if (kind !== now.kind || start !== now.start) return [];
  return options
    .flatMap((it) => {
      const name = kind === "command" ? it.label.replace("/", "") : it.label;
      const score = now.query === "" ? 0 : fuzzyScore(name, now.query);
      return score === undefined ? [] : [{ it, score }];
    })
    .sort((a, b) => b.score - a.score)
    .map(({ it }) => it);
}

function sameWord(a: Token, b: Token): boolean {
  return a.kind === b.kind && a.start === b.start && a.query === b.query;
}

/** Takes what the daemon offers, unless the word is another by now. */
export function takeSuggestions(model: Model, token: Token, options: readonly Suggestion[]): void {
  const { menu } = model;
  if (menu === undefined || !sameWord(menu.token, token)) return;
  if (options.length === 0) model.menu = undefined;
  else Object.assign(menu, { options: options.map(shownOption), at: 0, waits: false });
}

/** There is no answer for a word. */
export function endSuggestions({ menu }: Model, token: Token): void {
  if (menu !== undefined && sameWord(menu.token, token)) menu.waits = false;
}

function shownOption({ label, hint, detail, insert }: Suggestion): Suggestion {
  return {
    label: cleanLine(label),
    ...hint === undefined ? {} : { hint: cleanLine(hint) },
    ...detail === undefined ? {} : { detail: cleanLine(detail) },
    insert,
  };
}

/** The menu that is on the screen. */
export function openMenu({ menu, focus, picker }: Model): Menu | undefined {
  const shown = focus === "input" && picker === undefined && menu !== undefined;
  return shown && menu.options.length > 0 ? menu : undefined;
}

/**
 * Handles a key while the menu is open.
 *
 * @returns undefined for a key of the message; `submit` if a command is complete
 */
export function inMenu(model: Model, name: string): "taken" | "submit" | undefined {
  const menu = openMenu(model);
  if (menu === undefined) return undefined;
  const { options, at, token } = menu;
  switch (name) {
    case "up":
    case "ctrl-p":
      menu.at = (at - 1 + options.length) % options.length;
      return "taken";
    case "down":
    case "ctrl-n":
      menu.at = (at + 1) % options.length;
      return "taken";
    case "pageup":
      menu.at = Math.max(at - MENU_ROWS, 0);
      return "taken";
    case "pagedown":
      menu.at = Math.min(at + MENU_ROWS, options.length - 1);
      return "taken";
    case "escape":
      closeMenu(model);
      return "taken";
    case "tab":
    case "enter": {
      const { insert } = options[at];
      const written = model.input.text.slice(token.start, model.input.cursor);
      const is_whole = insert.trimEnd() === written;
      if (!is_whole || name === "tab") complete(model, menu, insert);
      const runs = name === "enter" &&
        (is_whole || insert.startsWith("/") && !insert.endsWith(" "));
      if (runs) closeMenu(model);
      return runs ? "submit" : "taken";
    }
  }
  return undefined;
}

/** Closes the menu until another word is begun. */
function closeMenu(model: Model): void {
  model.menu_closed = model.menu?.token.start;
  model.menu = undefined;
}

function complete({ input }: Model, { token }: Menu, insert: string): void {
  const after = input.text.slice(input.cursor);
  const text = insert.endsWith(" ") && after.startsWith(" ") ? insert.trimEnd() : insert;
  replaceWord(input, token.start, text);
}

/** Index of the first entry of a list that is shown, so that the one at `at` is. */
export function firstShown(at: number, shown: number, length: number): number {
  return Math.min(Math.max(at - shown + 1, 0), Math.max(length - shown, 0));
}

/** The rows of the menu. @param height as many as fit */
export function menuRows(model: Model, cols: number, height: number): Line[] {
  const menu = openMenu(model);
  if (menu === undefined) return [];
  const { options, at } = menu;
  const shown = height;
  const first = firstShown(at, shown, options.length);
  const visible = options.slice(first, first + shown);
  const labels = visible.map(({ label, hint }) => hint === undefined ? label : `${label} ${hint}`);
  const column = Math.min(Math.max(...labels.map((it) => width(it)), 0), Math.floor(cols / 2));
  return visible.map((option, n): Line => {
    const here = first + n === at;
    const label = cut(labels[n], Math.max(cols - 2, 1));
    const beside = cols >= DETAIL_COLS ? option.detail : undefined;
    const pad = beside === undefined ? "" : " ".repeat(Math.max(column - width(label), 0) + 2);
    return [
      { text: here ? "▸ " : "  ", style: here ? "bold" : "dim" },
      { text: label, style: here ? "bold" : "plain" },
      { text: beside === undefined ? "" : `${pad}${beside}`, style: "dim" },
    ];
  });
}
