/**
 * How characters of a command's output look: one of the colours that terminals have, and attributes.
 * Backgrounds and concealed text are left out, so that no text can be hidden. Must import nothing.
 */

/** A look as a number: the colour, and the attributes as bits above it. */
export interface Look {
  /** Index in {@linkcode COLOURS}; 0 for the colour of text. */
  colour: number;
  bold: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

/** The colours; black and white are the colour of text, on which they could not be seen. */
export const COLOURS = [
  "text",
  "red",
  "green",
  "yellow",
  "blue",
  "magenta",
  "cyan",
  "grey",
] as const;
const COLOUR = 7;
const BOLD = 8;
const ITALIC = 16;
const UNDERLINE = 32;
const INVERSE = 64;
const LOOKS = 128;

/** Looks of a text are a string of the same length: this plus the number, and line breaks. */
const FIRST = 0x100;
/** The look of text that has none. */
export const PLAIN_LOOK = String.fromCharCode(FIRST);
/** Runs of one look that an event has; those that follow are plain. */
const RUNS_MAX = 500;

/** Returns the look of a number. */
export function lookOf(number: number): Look {
  return {
    colour: number & COLOUR,
    bold: (number & BOLD) !== 0,
    italic: (number & ITALIC) !== 0,
    underline: (number & UNDERLINE) !== 0,
    inverse: (number & INVERSE) !== 0,
  };
}

/** Returns the look after a sequence that selects one (SGR). @param parameters between `[` and `m` */
export function lookAfter(look: number, parameters: string): number {
  const codes = parameters.split(/[;:]/).map((it) => Number(it === "" ? 0 : it));
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at];
    if (code === 38 || code === 48 || code === 58) {
      const is_rgb = codes[at + 1] === 2;
      const colour = is_rgb ? ofRgb(codes.slice(at + 2, at + 5)) : ofIndex(codes[at + 2]);
      if (code === 38) look = look & ~COLOUR | colour;
      at += is_rgb ? 4 : 2;
    } else look = afterCode(look, code);
  }
  return look;
}

function afterCode(look: number, code: number): number {
  const bit = BITS[code];
  if (code === 0) return 0;
  if (bit !== undefined) return bit > 0 ? look | bit : look & bit;
  if (code === 39) return look & ~COLOUR;
  const is_bright = code >= 90 && code <= 97;
  if (!is_bright && (code < 30 || code > 37)) return look;
  return look & ~COLOUR | ofIndex(is_bright ? code - 90 + 8 : code - 30);
}

const BITS: Readonly<Record<number, number>> = {
  1: BOLD,
  3: ITALIC,
  4: UNDERLINE,
  7: INVERSE,
  21: UNDERLINE,
  22: ~BOLD,
  23: ~ITALIC,
  24: ~UNDERLINE,
  27: ~INVERSE,
};

/** One of the 256 colours. */
function ofIndex(index = 0): number {
  if (index === 8) return 7;
  if (index < 16) return index % 8 % 7;
  if (index >= 232) return index < 250 ? 7 : 0;
  const cube = index - 16;
  return ofRgb([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((it) => it * 51));
}

/** The colour that is most like it; greys are grey, or the colour of text. */
function ofRgb([r = 0, g = 0, b = 0]: readonly number[]): number {
  const [least, most] = [Math.min(r, g, b), Math.max(r, g, b)];
  if (most - least < 40) return most > 70 && most < 180 ? 7 : 0;
  const middle = (least + most) / 2;
  return (r > middle ? 1 : 0) + (g > middle ? 2 : 0) + (b > middle ? 4 : 0);
}

/** Returns the looks of a text that all looks alike. */
export function looksLike(text: string, look = 0): string {
  // By code units: as many as the text has. Surrogates stay, where lines are cut between them.
  return text.replace(/[^\n\ud800-\udfff]/g, String.fromCharCode(FIRST + look));
}

/** Returns the number of the look of a code unit. */
export function lookAt(looks: string, at: number): number {
  const number = looks.charCodeAt(at) - FIRST;
  return number >= 0 && number < LOOKS ? number : 0;
}

/** Returns the runs that are not plain, as start, length and look of each; undefined for none. */
export function runsOf(looks: string): number[] | undefined {
  const runs: number[] = [];
  for (let at = 0; at < looks.length;) {
    const look = lookAt(looks, at);
    const from = at;
    while (at < looks.length && lookAt(looks, at) === look) at++;
    if (look === 0) continue;
    if (runs.length === RUNS_MAX * 3) break;
    runs.push(from, at - from, look);
  }
  return runs.length === 0 ? undefined : runs;
}

/** Divides a text by runs; those that do not fit to it are left out. */
export function partsByRuns(
  text: string,
  runs: readonly number[] = [],
): { text: string; look: number }[] {
  const parts: { text: string; look: number }[] = [];
  let at = 0;
  for (let n = 0; n + 2 < runs.length; n += 3) {
    const [from, length, look] = runs.slice(n, n + 3);
    if (!(from >= at && length > 0 && from + length <= text.length && look > 0 && look < LOOKS)) {
      continue;
    }
    if (from > at) parts.push({ text: text.slice(at, from), look: 0 });
    parts.push({ text: text.slice(from, from + length), look });
    at = from + length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), look: 0 });
  return parts;
}
