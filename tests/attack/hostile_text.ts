/** What a model, a tool, a repository or a hirer writes to mislead people: one set for all faces. */
import { type Loot } from "./kit.ts";

/** Each does something to a terminal or a page, or hides what is written. */
export const HOSTILE_PIECES: Readonly<Record<string, string>> = {
  "the clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
  "the title": "\x1b]0;owned-title\x1b\\",
  "a link": "\x1b]8;;https://evil.example/\x1b\\here\x1b]8;;\x1b\\",
  "a hidden colour": "\x1b[8mhidden\x1b[0m",
  "the screen": "\x1b[2J\x1b[H",
  "a C1 sequence": "\x9b2J\x9d0;c1-title\x9c",
  "a line that is overwritten": "rm -rf ~\rls",
  "erased characters": "evil\b\b\b\b\x7f",
  "an override": "txt.\u202egpj",
  "isolates": "\u2066a\u2067b\u2069",
  "no width": "r\u200bm\u2060\ufeff",
  "a soft hyphen": "r\u00adm",
  "tags": "a\u{e0072}\u{e006d}\u{e007f}",
  "selectors": "a\ufe0fb\u{e0101}",
  "annotation": "\ufff9a\ufffab\ufffb",
  "private use": "\uf8ff",
  "separators": "a\u2028b\u2029c\u0085d",
  "blank letters": "\u3164\u115f\u2800",
};

export const HOSTILE = Object.values(HOSTILE_PIECES).join(" ");

/** The same as the name of a file. */
export const HOSTILE_NAME = HOSTILE.replaceAll("/", "").slice(0, 100);

/** Beginnings of what only hostile text has; svc itself colours, clears and moves. */
const MARKS = [
  "\x1b]52",
  "\x1b]0;owned",
  "\x1b]8;",
  "\x1b[8m",
  "rm -rf ~\r",
  "\b\b\b\b",
  "\x7f",
];
const HIDDEN =
  /[\u0080-\u009f\u00ad\u200b\u202a-\u202e\u2028\u2029\u2060-\u2069\u{e0000}-\u{e01ef}\ufeff\ufff9-\ufffb\u3164\u115f\u2800\uf8ff]/u;

/** What of it is there unescaped. */
export function plantedIn(text: string): Loot {
  const mark = MARKS.find((it) => text.includes(it)) ?? text.match(HIDDEN)?.[0];
  if (mark === undefined) return undefined;
  const at = text.indexOf(mark);
  return JSON.stringify(text.slice(Math.max(at - 40, 0), at + 40));
}
