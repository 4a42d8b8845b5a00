/** Keys and their names. */
import { SvcError } from "../../protocol/errors.ts";
import { nearestOf } from "../../base/nearest.ts";
import { graphemes } from "./text.ts";

/** A pressed key: a named one, a character, or pasted text. */
export type Key =
  | { type: "named"; name: string }
  | { type: "character"; text: string }
  | { type: "paste"; text: string };

const KEY_NAMES = [
  "enter",
  "tab",
  "escape",
  "backspace",
  "delete",
  "insert",
  "up",
  "down",
  "left",
  "right",
  "home",
  "end",
  "pageup",
  "pagedown",
  "space",
] as const;

const MODIFIERS = ["ctrl", "alt", "shift"] as const;
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["return", "enter"],
  ["esc", "escape"],
  ["del", "delete"],
  ["arrowup", "up"],
  ["arrowdown", "down"],
  ["arrowleft", "left"],
  ["arrowright", "right"],
  ["page_up", "pageup"],
  ["page_down", "pagedown"],
]);

/** Which modifiers were held. */
export interface Modifiers {
  ctrl?: boolean;
  alt?: boolean;
  shift?: boolean;
}

/** Returns a named key with its modifiers in fixed order: `ctrl-alt-shift-x`. */
export function named(name: string, held: Modifiers = {}): Key {
  const modifiers = MODIFIERS.filter((modifier) => held[modifier]);
  return { type: "named", name: [...modifiers, name].join("-") };
}

/**
 * Reads the name of a key: one character, or `enter`, `ctrl-c`, `alt+enter`, `PageUp` and so on.
 *
 * @throws {SvcError} validation for an unknown name, with the nearest known one.
 */
export function parseKey(text: string): Key {
  if (graphemes(text).length === 1 && text !== "\n") return { type: "character", text };
  const words = text.toLowerCase().split(/[-+](?=.)/);
  const last = words.pop()!;
  const name = OTHER_NAMES.get(last) ?? last;
  const known = KEY_NAMES.some((it) => it === name) || (words.length > 0 && name.length === 1);
  if (!known || words.some((word) => !MODIFIERS.some((it) => it === word))) {
    const nearest = nearestOf(name, [...KEY_NAMES]);
    throw new SvcError("validation", `there is no key "${text}"`, {
      hint: nearest ? `did you mean "${nearest}"?` : `a character, or one of ${KEY_NAMES}`,
    });
  }
  if (name === "space" && words.length === 0) return { type: "character", text: " " };
  const held = Object.fromEntries(words.map((word) => [word, true]));
  return named(name, held);
}
