/** Which theme a terminal gets: the person's, as far as it has colours, on the background it tells. */
import type { ThemeName } from "../protocol/themes.ts";
import { type Background, type Depth, luminance, type ThemeOptions } from "./theme.ts";

export type { Background };

/** Reads a variable of the environment. */
type Env = (name: string) => string | undefined;

/** Reports whether output to this stream may have colour. */
export function wantsColour(stream: { isTerminal(): boolean }, env: Env): boolean {
  return takesStyles(stream, env) && !Deno.noColor;
}

/** Reports whether this stream shows bold and underlined text. */
function takesStyles(stream: { isTerminal(): boolean }, env: Env): boolean {
  return stream.isTerminal() && (env("TERM") ?? "dumb") !== "dumb";
}

/**
 * Returns what a stream is shown in.
 *
 * @param background what the terminal has told, if it did
 */
export function themeFor(
  stream: { isTerminal(): boolean },
  name: ThemeName,
  env: Env,
  background: Background | undefined = backgroundOf(env("COLORFGBG")),
): ThemeOptions {
  const shown = wantsColour(stream, env) ? name : takesStyles(stream, env) ? "none" : "text";
  return { name: shown, depth: depthOf(env), background };
}

/** How many colours the terminal says it has. */
export function depthOf(env: Env): Depth {
  if (/^(?:truecolor|24bit)$/.test(env("COLORTERM") ?? "")) return "true";
  return /256color|-direct/.test(env("TERM") ?? "") ? "256" : "16";
}

/** Numbers of the 16 colours that are light: white, and the bright ones but black. */
const LIGHT = new Set([7, 9, 10, 11, 12, 13, 14, 15]);

/** The background as rxvt and others put it into COLORFGBG: `15;0`, `0;default;15`. */
export function backgroundOf(colours: string | undefined): Background | undefined {
  const [, last] = /^(?:[^;]*;)+(\d{1,2})$/.exec(colours ?? "") ?? [];
  if (last === undefined || Number(last) > 15) return undefined;
  return LIGHT.has(Number(last)) ? "light" : "dark";
}

/** Asks the terminal for its background (OSC 11). */
export const ASK_BACKGROUND = "\x1b]11;?\x1b\\";

/** A longer one is no answer. */
const ANSWER_MAX = 64;
const COLOUR = "rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?";
const END = "(?:\\x07|\\x1b\\\\)";
const ANSWER = new RegExp(`^\\x1b\\]11;(?:${COLOUR})?[^\\x07\\x1b]*${END}`, "i");
/** Its beginning may have been taken for keys, where the rest came late. */
const REST = new RegExp(`^\\]?11;${COLOUR}${END}`, "i");
// deno-lint-ignore no-control-regex -- an escape sequence is what is looked for
const BEGUN = /^\x1b\]1(?:1(?:;[^\x07\x1b]*\x1b?)?)?$/;

/** An answer to {@linkcode ASK_BACKGROUND}, or the beginning of one. */
export interface Answer {
  /** Its code units; 0 while it is incomplete. */
  length: number;
  background?: Background;
}

/** Finds an answer at the front of what a terminal sends; undefined for anything else. */
export function answerIn(text: string): Answer | undefined {
  const front = text.slice(0, ANSWER_MAX);
  const found = ANSWER.exec(front) ?? REST.exec(front);
  if (found === null) {
    return text.length < ANSWER_MAX && BEGUN.test(text) ? { length: 0 } : undefined;
  }
  const [{ length }, ...parts] = found;
  if (parts[0] === undefined) return { length };
  const colour = parts.map((part) => parseInt(part, 16) / (16 ** part.length - 1) * 255);
  const [r, g, b] = colour;
  return { length, background: luminance([r, g, b]) > MIDDLE ? "light" : "dark" };
}

/** The brightness at which black and white text have the same contrast. */
const MIDDLE = 0.179;
