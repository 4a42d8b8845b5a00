/**
 * Text from a model, a tool, a repository or a hirer, made safe for people. Every face uses this one
 * file: the web app, the terminal UI, the line-by-line chat, the command line, editors.
 *
 * What cannot be seen is written out, as in `\u{202e}`. Nothing is removed: a person sees that it is
 * there. It imports nothing of the daemon's, so that the web app can use it.
 */
import { HIDDEN, lazy } from "./hidden.ts";

export { visibleJson } from "./visible_json.ts";

/** Scripts that are written from right to left. */
const RTL =
  "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufeff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const PICTURE = "(?!\\p{Cn})\\p{Extended_Pictographic}[\\ufe0e\\ufe0f]?\\p{Emoji_Modifier}?";
/** Scripts in which a joiner changes the shape of the letters beside it. */
const JOINED = "\\p{L}\\p{M}";
const WESTERN = "\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{Script=Common}";

/** More marks than this on one letter reach into other lines. */
const MARKS_MAX = 8;
/** Pictures joined to one. */
const JOINED_PICTURES_MAX = 8;
/** What is looked at of the text before, in code units. */
const CONTEXT = 64;

/** Most text: nothing in it has to be looked at more closely. */
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const remarkable = lazy(`(?![\\n\\t])[${HIDDEN}]|\\p{M}{${MARKS_MAX + 1}}`, "u");
/** What is looked at in a conversation. All but the last group is shown as it is. */
const conversation = lazy(
  [
    // The three flags that are spelled in tags, other pictures, keycaps.
    "\\u{1f3f4}\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|" +
    "\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f}",
    `${PICTURE}(?:\\u200d${PICTURE}){0,${JOINED_PICTURES_MAX}}`,
    // A picture whose rest may follow in the next piece of text.
    `(?<=${PICTURE})\\u200d$`,
    "[#*0-9]\\ufe0f\\u20e3",
    `(?<=[${JOINED}])(?<![${WESTERN}])[\\u200c\\u200d]`,
    `(?<!\\p{M})(?:(?![${HIDDEN}])\\p{M}){1,${MARKS_MAX}}`,
    // An end of line in two characters.
    "\\r(?=\\n)",
    `(?<hidden>(?![\\n\\t])[${HIDDEN}]|\\p{M}+)`,
  ].join("|"),
  "gu",
);

export interface VisibleOptions {
  /** What stands before the text, which may begin in the middle of a picture. */
  before?: string;
}

/**
 * Text of a conversation: accents, emoji and all scripts stay readable, and so do the ends of lines
 * and tabs. Everything that is not visible is written out.
 */
export function visible(text: string, { before = "" }: VisibleOptions = {}): string {
  if (PLAIN.test(text) || !remarkable().test(text)) return text;
  const context = before.slice(-CONTEXT);
  const all = context + text;
  let shown = "";
  let at = context.length;
  for (const match of all.matchAll(conversation())) {
    const end = match.index + match[0].length;
    if (end <= at) continue;
    const kept = all.slice(at, Math.max(match.index, at));
    const matched = all.slice(Math.max(match.index, at), end);
    at = end;
    shown += kept;
    if (match.groups!.hidden !== undefined) shown += escaped(matched);
    else if (matched !== "\r") shown += matched;
  }
  return shown + all.slice(at);
}

/** As {@linkcode visible}, for what stands on one line: ends of lines and tabs are written out. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll(/[\n\t]/g, escaped);
}

/** The beginning of what a written-out character looks like. */
const WRITTEN_OUT = "\\u{";
const neverExact = lazy(`[${HIDDEN}\\p{Zs}]`, "u");
const MARK = /\p{M}/u;
/** A mark that belongs to its script, as the vowels of Thai and Hindi do. */
const ownMark = lazy(`(?![${WESTERN}\\p{Script=Inherited}])\\p{M}`, "u");
const ownLetter = lazy(`(?![${WESTERN}])[${JOINED}]$`, "u");
const rtlChar = lazy(`[${RTL}]`, "u");
const rtlProse = lazy(`^[${RTL}\\p{M} \\t.,:;!?'"()*#_-]*$`, "u");

/**
 * Text of a question that a person decides by it: no two different texts look the same, but for
 * letters of different alphabets that do. Beyond what {@linkcode visible} writes out, these are:
 * unusual blanks, joined emoji, letters that are put together from parts, and letters written from
 * right to left on a line that has others as well.
 */
export function exact(text: string): string {
  if (PLAIN.test(text) && !text.includes(WRITTEN_OUT)) return text;
  return text.split("\n").map(exactRow).join("\n");
}

/** As {@linkcode exact}, for what stands on one line. */
export function exactLine(text: string): string {
  return exact(text).replaceAll(/[\n\t]/g, escaped);
}

/** What is looked at in a question: all that is not plain, and what looks written out. */
const NOT_PLAIN = /[^\x20-\x7e\t]|\\(?=u\{)/gu;

function exactRow(row: string): string {
  const reordered = rtlChar().test(row) && !rtlProse().test(row);
  return row.replaceAll(NOT_PLAIN, (char, at: number) => {
    if (reordered && rtlChar().test(char)) return escaped(char);
    return isExact(char, row.slice(Math.max(at - 2, 0), at)) ? char : escaped(char);
  });
}

/** @param before the code units before it, as many as a letter can have. */
function isExact(char: string, before: string): boolean {
  if (char === "\\" || neverExact().test(char)) return false;
  if (MARK.test(char) && !(ownMark().test(char) && ownLetter().test(before))) return false;
  const both = before.toWellFormed() + char;
  return char === char.normalize() && both.normalize().endsWith(char);
}

function escaped(text: string): string {
  return Array.from(text, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`).join("");
}
