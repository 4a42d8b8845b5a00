/** Markdown as models write it: GitHub's, with the formulas of TeX. Loaded with the first text. */
import { Marked, type MarkedOptions, type TokenizerAndRendererExtension } from "marked";

/** A formula in a text. */
export interface FormulaToken {
  type: "formula";
  raw: string;
  tex: string;
  /** It stands by itself. */
  block: boolean;
}

/** A longer one is text, in characters. */
const TEX_MAX = 5_000;

/** By itself: between lines of two dollars, or \[ and \]. One that is being written goes to the end. */
const BLOCK =
  /^ {0,3}(?:\$\$[ \t]*\n([^]*?)(?:\n {0,3}\$\$|$)|\\\[([^]*?)(?:\\\]|$))[ \t]*(?:\n|$)/;
/** In a line. Dollars around no blank, before no digit: prices and variables of a shell are text. */
const INLINE =
  /^(?:\$\$((?:[^$\\]|\\.)+)\$\$|\\\(([^]+?)\\\)|\$(?![\s$])((?:[^$\\\n]|\\.)*?[^\s$\\]|[^\s$\\])\$(?![\w$]))/;

const block: TokenizerAndRendererExtension = {
  name: "formula",
  level: "block",
  start: (text) => /(?:^|\n) {0,3}(?:\$\$[ \t]*\n|\\\[)/.exec(text)?.index,
  tokenizer(text) {
    const found = BLOCK.exec(text);
    if (found === null) return;
    return formula(found[0], found[1] ?? found[2], true);
  },
};

const inline: TokenizerAndRendererExtension = {
  name: "formula",
  level: "inline",
  start: (text) => /(?<![\w\\$])\$|\\\(/.exec(text)?.index,
  tokenizer(text) {
    const found = INLINE.exec(text);
    if (found === null) return;
    return formula(found[0], found[1] ?? found[2] ?? found[3], found[1] !== undefined);
  },
};

function formula(raw: string, tex: string, block: boolean): FormulaToken | undefined {
  if (tex.trim() === "" || tex.length > TEX_MAX) return undefined;
  return { type: "formula", raw, tex: tex.trim(), block };
}

/** For the lexer. A line that a model or a tool ended is one. */
export const MARKDOWN: MarkedOptions =
  new Marked({ gfm: true, breaks: true, extensions: [block, inline] }).defaults;
