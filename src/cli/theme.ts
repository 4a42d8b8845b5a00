/** How styles look on a terminal: the themes, and their escape sequences at each depth of colour. */
import { lookOf } from "../base/looks.ts";
import type { ThemeName } from "../protocol/themes.ts";
import type { Ground, Span, Style } from "../features/tui/text.ts";

/** How many colours a terminal has: all, 256, or the 16 that it names itself. */
export type Depth = "true" | "256" | "16";
export type Background = "dark" | "light";

/** A colour as `#rrggbb`, and attributes by their numbers (SGR). */
export interface Look {
  colour?: string;
  attributes?: string;
}

export interface Palette {
  styles: Record<Style, Look>;
  /** Colours behind differences. */
  grounds: Record<Ground, { behind: string } & Look>;
  /** Backgrounds of terminals on which it can be read. */
  on: readonly string[];
}

const BOLD = "1";
const ITALIC = "3";
const UNDERLINE = "4";
const INVERSE = "7";
const BOLD_UNDERLINE = "1;4";

const ATTRIBUTES = {
  plain: {},
  bold: { attributes: BOLD },
  italic: { attributes: ITALIC },
  underline: { attributes: UNDERLINE },
} satisfies Partial<Record<Style, Look>>;

/** Each with a contrast of at least 4.5:1, of `contrast_*` 7:1. */
export const PALETTES = {
  dark: {
    styles: {
      ...ATTRIBUTES,
      dim: { colour: "#a8a8a8" },
      accent: { colour: "#7cc7ff" },
      success: { colour: "#7ee787" },
      warning: { colour: "#e3b341" },
      error: { colour: "#ff9a92" },
      added: { colour: "#7ee787" },
      removed: { colour: "#ff9a92" },
      code: { colour: "#8fd3ff" },
      keyword: { colour: "#ff9fc4" },
      string: { colour: "#a5e29b" },
      number: { colour: "#e8c07d" },
      comment: { colour: "#a8a8a8", attributes: ITALIC },
      title: { colour: "#d2a8ff" },
    },
    grounds: {
      added: { behind: "#12331d", colour: "#e6edf3" },
      removed: { behind: "#3d1518", colour: "#e6edf3" },
      added_word: { behind: "#1f5c33", colour: "#ffffff", attributes: BOLD },
      removed_word: { behind: "#7a2127", colour: "#ffffff", attributes: BOLD },
    },
    on: ["#000000", "#1e1e1e", "#282c34"],
  },
  light: {
    styles: {
      ...ATTRIBUTES,
      dim: { colour: "#5c5c5c" },
      accent: { colour: "#005a9c" },
      success: { colour: "#0a6029" },
      warning: { colour: "#644200" },
      error: { colour: "#a8141a" },
      added: { colour: "#0a6029" },
      removed: { colour: "#a8141a" },
      code: { colour: "#004e9a" },
      keyword: { colour: "#93106b" },
      string: { colour: "#0a5a2b" },
      number: { colour: "#6a3200" },
      comment: { colour: "#5c5c5c", attributes: ITALIC },
      title: { colour: "#5a2ca6" },
    },
    grounds: {
      added: { behind: "#dafbe1", colour: "#1a1a1a" },
      removed: { behind: "#ffe5e3", colour: "#1a1a1a" },
      added_word: { behind: "#a6e9b5", colour: "#000000", attributes: BOLD },
      removed_word: { behind: "#ffb8b3", colour: "#000000", attributes: BOLD },
    },
    on: ["#ffffff", "#fdf6e3", "#f0f0f0"],
  },
  contrast_dark: {
    styles: {
      ...ATTRIBUTES,
      dim: { colour: "#d0d0d0" },
      accent: { colour: "#9fdcff", attributes: BOLD },
      success: { colour: "#9dffa8", attributes: BOLD },
      warning: { colour: "#ffe066", attributes: BOLD },
      error: { colour: "#ffc0ba", attributes: BOLD_UNDERLINE },
      added: { colour: "#9dffa8" },
      removed: { colour: "#ffc0ba" },
      code: { colour: "#b5e4ff" },
      keyword: { colour: "#ffc4dd", attributes: BOLD },
      string: { colour: "#c2f5b8" },
      number: { colour: "#ffdf9e" },
      comment: { colour: "#d0d0d0", attributes: ITALIC },
      title: { colour: "#e6ccff", attributes: BOLD },
    },
    grounds: {
      added: { behind: "#00260d", colour: "#ffffff" },
      removed: { behind: "#3a0005", colour: "#ffffff" },
      added_word: { behind: "#ffffff", colour: "#003311", attributes: BOLD_UNDERLINE },
      removed_word: { behind: "#ffffff", colour: "#5f0000", attributes: BOLD_UNDERLINE },
    },
    on: ["#000000", "#1e1e1e", "#282c34"],
  },
  contrast_light: {
    styles: {
      ...ATTRIBUTES,
      dim: { colour: "#3a3a3a" },
      accent: { colour: "#00105f", attributes: BOLD },
      success: { colour: "#002b08", attributes: BOLD },
      warning: { colour: "#3d2600", attributes: BOLD },
      error: { colour: "#7a0000", attributes: BOLD_UNDERLINE },
      added: { colour: "#002b08" },
      removed: { colour: "#7a0000" },
      code: { colour: "#00105f" },
      keyword: { colour: "#660046", attributes: BOLD },
      string: { colour: "#002b08" },
      number: { colour: "#542800" },
      comment: { colour: "#3a3a3a", attributes: ITALIC },
      title: { colour: "#3b1478", attributes: BOLD },
    },
    grounds: {
      added: { behind: "#e3ffe9", colour: "#000000" },
      removed: { behind: "#fff0ee", colour: "#000000" },
      added_word: { behind: "#003311", colour: "#ffffff", attributes: BOLD_UNDERLINE },
      removed_word: { behind: "#5f0000", colour: "#ffffff", attributes: BOLD_UNDERLINE },
    },
    on: ["#ffffff", "#fdf6e3", "#f0f0f0"],
  },
} satisfies Record<string, Palette>;

/** Attributes and colours in the terminal's own names. */
interface Own {
  styles: Record<Style, string>;
  grounds: Record<Ground, string>;
}

/** The colours of the terminal itself, whatever its background. */
const TERMINAL: Own = {
  styles: {
    plain: "",
    bold: BOLD,
    dim: "2",
    italic: ITALIC,
    underline: UNDERLINE,
    accent: "36",
    success: "32",
    warning: "33",
    error: "31",
    added: "32",
    removed: "31",
    code: "36",
    keyword: "35",
    string: "32",
    number: "33",
    comment: "2",
    title: "36",
  },
  grounds: { added: "32", removed: "31", added_word: "1;7;32", removed_word: "1;7;31" },
};

/**
 * The terminal's text in its own colour: as much contrast as the person has chosen there. NO_COLOR
 * asks for no colours; bold and underlined text is none (no-color.org).
 */
const ATTRIBUTES_ALONE: Own = {
  styles: {
    ...TERMINAL.styles,
    dim: "",
    accent: BOLD,
    success: BOLD,
    warning: BOLD_UNDERLINE,
    error: "1;7",
    added: BOLD,
    removed: "",
    code: "",
    keyword: BOLD,
    string: "",
    number: "",
    comment: ITALIC,
    title: BOLD,
  },
  grounds: { added: BOLD, removed: "", added_word: "1;7", removed_word: "1;7" },
};

/** Gives text its look; a function for each style. */
export type Paint = Record<Style, (text: string) => string> & {
  /** A span's text in its style, on its ground. */
  span(span: Pick<Span, "text" | "style" | "on" | "look">): string;
};

export interface ThemeOptions {
  /** Of a person, or `text` for what is no screen: neither colours nor attributes. */
  name: ThemeName | "text";
  depth: Depth;
  /** Unknown unless the terminal tells. */
  background?: Background;
}

/** Returns the looks of a theme as the terminal can show it. */
export function themed({ name, depth, background }: ThemeOptions): Paint {
  if (name === "text") return painted(() => "", false);
  const alone = name === "none" || name === "high-contrast" && background === undefined;
  const own = alone ? ATTRIBUTES_ALONE : TERMINAL;
  const palette = paletteOf(name, background);
  if (palette === undefined || depth === "16") {
    return painted(({ style, on }) => on === undefined ? own.styles[style] : own.grounds[on]);
  }
  return painted(({ style, on }) => codesOf(palette, style, on, depth));
}

function paletteOf(name: ThemeOptions["name"], background?: Background): Palette | undefined {
  switch (name) {
    case "dark":
    case "light":
      return PALETTES[name];
    case "auto":
      return background && PALETTES[background];
    case "high-contrast":
      return background && PALETTES[`contrast_${background}`];
  }
}

/** Numbers of a style on a ground. Changed words look all alike: what they are is the line's. */
function codesOf(palette: Palette, style: Style, on: Ground | undefined, depth: Depth): string {
  const { colour, attributes }: Look = palette.styles[style];
  if (on === undefined) return joined([attributes, colour && colourCode(colour, 38, depth)]);
  const ground = palette.grounds[on];
  const own = on === "added" || on === "removed" ? colour ?? ground.colour : ground.colour;
  return joined([
    ground.attributes ?? attributes,
    own && colourCode(own, 38, depth),
    colourCode(ground.behind, 48, depth),
  ]);
}

function joined(codes: readonly (string | false | undefined)[]): string {
  return codes.filter(Boolean).join(";");
}

function painted(codes: (span: Pick<Span, "style" | "on">) => string, attributes = true): Paint {
  const known = new Map<string, string>();
  const span: Paint["span"] = ({ text, style, on, look = 0 }) => {
    const key = `${style}/${on}/${look}`;
    let own = known.get(key);
    if (own === undefined) {
      const more = attributes && look > 0 ? attributesOf(look) : "";
      known.set(key, own = joined([codes({ style, on }), more]));
    }
    return own === "" || text === "" ? text : `\x1b[${own}m${text}\x1b[0m`;
  };
  const styles = Object.keys(TERMINAL.styles).map((style) => [
    style,
    (text: string) => span({ text, style: style as Style }),
  ]);
  return { ...Object.fromEntries(styles), span };
}

/** Numbers of the attributes that a command printed. */
function attributesOf(number: number): string {
  const { bold, italic, underline, inverse } = lookOf(number);
  return joined([bold && BOLD, italic && ITALIC, underline && UNDERLINE, inverse && INVERSE]);
}

// ── colours ────────────────────────────────────────────────────────────────────────────────────

type Rgb = readonly [number, number, number];

/** The parts of a colour. */
export function rgbOf(colour: string): Rgb {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return parts as unknown as Rgb;
}

/** @param kind 38: the text, 48: behind it */
function colourCode(colour: string, kind: 38 | 48, depth: Depth): string {
  return depth === "true"
    ? `${kind};2;${rgbOf(colour).join(";")}`
    : `${kind};5;${nearest256(rgbOf(colour))}`;
}

/** Brightness of the steps of the cube of 256 colours. */
const CUBE = [0, 95, 135, 175, 215, 255];

/** The colours that every terminal of 256 shows alike, by their numbers: the cube and the greys. */
export function rgbOf256(index: number): Rgb {
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return [grey, grey, grey];
  }
  const at = index - 16;
  return [CUBE[Math.floor(at / 36)], CUBE[Math.floor(at / 6) % 6], CUBE[at % 6]];
}

/** Returns the number of the colour that looks most like it. */
export function nearest256(colour: Rgb): number {
  let best = 16;
  let least = Infinity;
  for (let index = 16; index < 256; index++) {
    const other = rgbOf256(index);
    const distance = colour.reduce((sum, part, n) => sum + (part - other[n]) ** 2, 0);
    if (distance < least) [best, least] = [index, distance];
  }
  return best;
}

/** Contrast of two colours, from 1 to 21 (WCAG 2). */
export function contrast(one: Rgb, other: Rgb): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

/** Brightness as eyes see it, from 0 to 1. */
export function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
