/** Markdown as models write it: GitHub's, with the formulas of TeX. Loaded with the first text. */
import {
  getDefaults,
  Lexer,
  type Links,
  type MarkedOptions,
  type Token,
  type TokenizerStartFunction,
  type TokensList,
} from "marked";
import { MarkdownTokenizer } from "../../../src/base/markdown_tokenizer.ts";

/** A formula in a text. */
export interface FormulaToken {
  type: "formula";
  raw: string;
  tex: string;
  /** It stands by itself. */
  block: boolean;
}

/** The end of a block of code whose fence is closed. */
export const FENCE_END = /\n {0,3}(`{3,}|~{3,})\s*$/;
/** A longer one is text, in characters. */
const TEX_MAX = 5_000;
/** Characters in which a formula ends, with all that stands around it. */
const AHEAD = TEX_MAX + 100;
/** Lists and quotes in each other; what is deeper is as it was written. */
const NESTED_MAX = 40;
/** Characters of what is nested, in all: each level reads its own again. */
const NESTED_CHARS_MAX = 1_000_000;
/** Characters of a longer line are not looked at: the time for that grows with the square. */
const LINE_MAX = 10_000;
/** A larger table is text: its short rows grow to the width of its head. */
const CELLS_MAX = 10_000;
/** The first two lines of a table. */
const TABLE = /^([^\n]+)\n[ \t|:-]*[|:][ \t|:-]*(?:\n|$)/;

/** By itself: between lines of two dollars, or \[ and \]. One that is being written goes to the end. */
const BLOCK =
  /^ {0,3}(?:\$\$[ \t]*\n([^]*?)(?:\n {0,3}\$\$|$)|\\\[([^]*?)(?:\\\]|$))[ \t]*(?:\n|$)/;
/** In a line. Dollars around no blank, before no digit: prices and variables of a shell are text. */
const INLINE =
  /^(?:\$\$((?:[^$\\]|\\.)+)\$\$|\\\(([^]+?)\\\)|\$(?![\s$])((?:[^$\\\n]|\\.)*?[^\s$\\]|[^\s$\\])\$(?![\w$]))/;

interface FormulaRule {
  start: TokenizerStartFunction;
  tokenizer(text: string): FormulaToken | undefined;
}

const block: FormulaRule = {
  // It is asked for each paragraph.
  start: (text) => /(?:^|\n) {0,3}(?:\$\$[ \t]*\n|\\\[)/.exec(text.slice(0, AHEAD))?.index,
  tokenizer(text) {
    const near = text.slice(0, AHEAD);
    // Without an end in sight, it is none.
    if (text.length > AHEAD && !/\\\]|\n {0,3}\$\$/.test(near)) return;
    const found = BLOCK.exec(near);
    if (found === null || found[0].length === AHEAD) return;
    return formula(found[0], found[1] ?? found[2], true);
  },
};

const inline: FormulaRule = {
  start: (text) => /(?<![\w\\$])\$|\\\(/.exec(text)?.index,
  tokenizer(text) {
    const found = INLINE.exec(text.slice(0, AHEAD));
    if (found === null) return;
    return formula(found[0], found[1] ?? found[2] ?? found[3], found[1] !== undefined);
  },
};

function formula(raw: string, tex: string, block: boolean): FormulaToken | undefined {
  if (tex.trim() === "" || tex.length > TEX_MAX) return undefined;
  return { type: "formula", raw, tex: tex.trim(), block };
}

class Rules extends MarkdownTokenizer {
  override table(text: string) {
    return isLargeTable(text) ? undefined : super.table(text);
  }

  /** A note at the foot of a text is no address. */
  override def(text: string) {
    return /^ {0,3}\[\^/.test(text) ? undefined : super.def(text);
  }
}

/**
 * A line that a model or a tool ended is one. Made without the class `Marked`, as that brings all
 * that writes HTML.
 */
const MARKDOWN: MarkedOptions = {
  ...getDefaults(),
  breaks: true,
  extensions: {
    block: [block.tokenizer],
    startBlock: [block.start],
    inline: [inline.tokenizer],
    startInline: [inline.start],
    childTokens: {},
    renderers: {},
  },
  tokenizer: new Rules(),
};

function isLargeTable(text: string): boolean {
  const head = TABLE.exec(text);
  if (head === null) return false;
  const rows = CELLS_MAX / head[1].split("|").length;
  let at = head[0].length;
  for (let n = 0; at > 0 && at < text.length && text[at] !== "\n"; n++) {
    if (n > rows) return true;
    at = text.indexOf("\n", at) + 1;
  }
  return false;
}

/** Reads Markdown in a time that does not run away, whatever it is. */
export class MarkdownLexer extends Lexer {
  #depth = 0;
  #nested = 0;

  /** @param links addresses that are stated elsewhere in the text */
  constructor(links?: Links) {
    super(MARKDOWN);
    Object.assign(this.tokens.links, links);
  }

  override blockTokens(text: string, tokens?: Token[], clipped?: boolean): Token[];
  override blockTokens(text: string, tokens?: TokensList, clipped?: boolean): TokensList;
  override blockTokens(text: string, tokens: Token[] = [], clipped?: boolean): Token[] {
    if (this.#depth > 0) this.#nested += text.length;
    if (this.#depth >= NESTED_MAX || this.#nested > NESTED_CHARS_MAX) {
      return asWritten(text, tokens);
    }
    this.#depth++;
    super.blockTokens(text, tokens, clipped);
    this.#depth--;
    return tokens;
  }

  override inline(text: string, tokens: Token[] = []): Token[] {
    return text.length > LINE_MAX ? asWritten(text, tokens) : super.inline(text, tokens);
  }
}

function asWritten(text: string, tokens: Token[]): Token[] {
  tokens.push({ type: "written", raw: text, text });
  return tokens;
}
