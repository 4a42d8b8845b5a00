/**
 * Makes text from models, tools, repositories and hirers safe to show, in all clients. Invisible
 * characters are written out, as in `\u{202e}`, and nothing is removed. Must not import the daemon:
 * the web app uses it.
 */
import { HIDDEN, lazy } from "./hidden.ts";

export { visibleJson } from "./visible_json.ts";

/** Scripts written from right to left. */
const RTL =
  "\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufeff\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}";
const PICTURE = "(?!\\p{Cn})\\p{Extended_Pictographic}[\\ufe0e\\ufe0f]?\\p{Emoji_Modifier}?";
/** Scripts in which a joiner changes neighbouring letters. */
const JOINED = "\\p{L}\\p{M}";
const WESTERN = "\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}\\p{Script=Common}";

/** More marks on one letter reach into other lines. */
const MARKS_MAX = 8;
/** Pictures joined to one. */
const JOINED_PICTURES_MAX = 8;
/** UTF-16 units to look at before the text. */
const CONTEXT = 64;

/** Most text needs no closer look. */
const PLAIN = /^[\x20-\x7e\n\t]*$/;
const remarkable = lazy(`(?![\\n\\t])[${HIDDEN}]|\\p{M}{${MARKS_MAX + 1}}`, "u");
/** Special characters in conversations. All but the last group are shown as they are. */
const conversation = lazy(
  [
    // The three flags spelled in tags, other pictures, keycaps.
    "\\u{1f3f4}\\u{e0067}\\u{e0062}(?:\\u{e0065}\\u{e006e}\\u{e0067}|\\u{e0073}\\u{e0063}\\u{e0074}|" +
    "\\u{e0077}\\u{e006c}\\u{e0073})\\u{e007f}",
    `${PICTURE}(?:\\u200d${PICTURE}){0,${JOINED_PICTURES_MAX}}`,
    // A picture whose rest may follow in the next piece.
    `(?<=${PICTURE})\\u200d$`,
    "[#*0-9]\\ufe0f\\u20e3",
    `(?<=[${JOINED}])(?<![${WESTERN}])[\\u200c\\u200d]`,
    `(?<!\\p{M})(?:(?![${HIDDEN}])\\p{M}){1,${MARKS_MAX}}`,
    // The start of CR LF.
    "\\r(?=\\n)",
    `(?<hidden>(?![\\n\\t])[${HIDDEN}]|\\p{M}+)`,
  ].join("|"),
  "gu",
);

interface VisibleOptions {
  /** The text before, which may end in the middle of a picture. */
  before?: string;
}

/** Writes out invisible characters; all scripts, emoji, newlines and tabs stay. */
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

/** As {@linkcode visible}, but also writes out newlines and tabs. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll(/[\n\t]/g, escaped);
}

/** Start of a written-out character. */
const WRITTEN_OUT = "\\u{";
const neverExact = lazy(`[${HIDDEN}\\p{Zs}]`, "u");
const MARK = /\p{M}/u;
/** A mark that belongs to its script, as vowels in Thai and Hindi. */
const ownMark = lazy(`(?![${WESTERN}\\p{Script=Inherited}])\\p{M}`, "u");
const ownLetter = lazy(`(?![${WESTERN}])[${JOINED}]$`, "u");
const rtlChar = lazy(`[${RTL}]`, "u");
const rtlProse = lazy(`^[${RTL}\\p{M} \\t.,:;!?'"()*#_-]*$`, "u");

/**
 * Shows text for a decision: no two different texts look the same, except for similar letters of
 * different alphabets. It also writes out unusual blanks, joined emoji, composed letters, and
 * right-to-left letters on a line with others.
 */
export function exact(text: string): string {
  if (PLAIN.test(text) && !text.includes(WRITTEN_OUT)) return text;
  return text.split("\n").map(exactRow).join("\n");
}

/** As {@linkcode exact}, but also writes out newlines and tabs. */
export function exactLine(text: string): string {
  return exact(text).replaceAll(/[\n\t]/g, escaped);
}

/** Characters to check: not plain ASCII, or like a written-out one. */
const NOT_PLAIN = /[^\x20-\x7e\t]|\\(?=u\{)/gu;

function exactRow(row: string): string {
  const reordered = rtlChar().test(row) && !rtlProse().test(row);
  return row.replaceAll(NOT_PLAIN, (char, at: number) => {
    if (reordered && rtlChar().test(char)) return escaped(char);
    return isExact(char, row.slice(Math.max(at - 2, 0), at)) ? char : escaped(char);
  });
}

/** @param before the UTF-16 units before it, as many as a letter can have */
function isExact(char: string, before: string): boolean {
  if (char === "\\" || neverExact().test(char)) return false;
  if (MARK.test(char) && !(ownMark().test(char) && ownLetter().test(before))) return false;
  const both = before.toWellFormed() + char;
  return char === char.normalize() && both.normalize().endsWith(char);
}

function escaped(text: string): string {
  return Array.from(text, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`).join("");
}
