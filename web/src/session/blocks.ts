/** Splits Markdown that is still being written into blocks; those before the last few stay as they are. */
import type { Links, Token, Tokens } from "marked";
import { FENCE_END, MarkdownLexer } from "./markdown_rules.ts";
import { pieces } from "./pieces.ts";

/** A piece of Markdown that can be shown by itself. */
export type Block =
  | {
    kind: "code";
    raw: string;
    language: string;
    code: string;
    /** Its fence was closed: no more is written into it. */
    closed: boolean;
  }
  | {
    kind: "text";
    raw: string;
    /** The addresses that the text states, if this can name one. */
    links?: Links;
    /** It states an address, and is not drawn. */
    def?: Tokens.Def;
  };

/** A paragraph without end is cut, so that a growing one is not laid out anew as a whole. */
const PARAGRAPH_MAX = 8_000;
/** What comes next can still change these: a list goes on, a line becomes a heading. */
const OPEN = 2;

export class Blocks {
  #text = "";
  #blocks: Block[] = [];
  /** The addresses that the text states. */
  #links: Links | undefined;
  #defs = "";

  /** The blocks of a text; of one that has grown, only the last few are read again. */
  update(written: string): readonly Block[] {
    const text = written.replace(/\r\n?/g, "\n");
    if (text === this.#text) return this.#blocks;
    const kept = text.startsWith(this.#text) ? this.#blocks.slice(0, -OPEN) : [];
    const from = kept.reduce((sum, { raw }) => sum + raw.length, 0);
    this.#blocks = this.#linked([...kept, ...split(text.slice(from))]);
    this.#text = text;
    return this.#blocks;
  }

  /** Tells blocks that can name an address of those that the whole text states. */
  #linked(blocks: Block[]): Block[] {
    const stated = blocks.flatMap((it) => it.kind === "text" && it.def ? [it.def] : []);
    const defs = stated.map(({ raw }) => raw).join("");
    if (defs !== this.#defs) {
      this.#defs = defs;
      this.#links = undefined;
      // The first of a name counts.
      for (const { tag, href, title } of stated.reverse()) {
        this.#links ??= Object.create(null) as Links;
        this.#links[tag] = { href, title };
      }
    }
    const links = this.#links;
    return blocks.map((it) => {
      if (it.kind !== "text" || it.links === links || !it.raw.includes("]")) return it;
      const { links: _, ...alone } = it;
      return links === undefined ? alone : { ...alone, links };
    });
  }
}

function split(text: string): Block[] {
  const blocks: Block[] = [];
  let leading = "";
  for (const token of tokensOf(text)) {
    const last = blocks.at(-1);
    if (token.type !== "space") blocks.push(...blocksOf(token));
    else if (last) last.raw += token.raw;
    else leading += token.raw;
  }
  if (blocks.length > 0) blocks[0].raw = leading + blocks[0].raw;
  // The lexer tidies some unfinished lines; then the text is one piece until they are finished.
  const whole = blocks.map(({ raw }) => raw).join("");
  return whole === text ? blocks : [{ kind: "text", raw: text }];
}

/** @returns nothing when it is nested too deep: the lexer calls itself for each quote in a quote. */
function tokensOf(text: string): Token[] {
  try {
    return new MarkdownLexer().blockTokens(text);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

function blocksOf(token: Token): Block[] {
  const { raw } = token;
  if (token.type === "code") {
    const { text, lang = "" } = token as Tokens.Code;
    const closed = FENCE_END.test(raw);
    return [{ kind: "code", raw, language: lang.split(/\s/)[0], code: text, closed }];
  }
  if (token.type === "def") return [{ kind: "text", raw, def: token as Tokens.Def }];
  if (token.type !== "paragraph" || raw.length <= PARAGRAPH_MAX) return [{ kind: "text", raw }];
  return pieces(raw, PARAGRAPH_MAX).map((raw) => ({ kind: "text", raw }));
}
