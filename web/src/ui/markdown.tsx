/**
 * Markdown of models and tools as elements that do nothing: HTML in it is text, links lead to the
 * web only, images are data or links. No HTML is made of it.
 */
import type { Links, Token, Tokens } from "marked";
import { type ComponentChildren, h } from "preact";
import { useMemo } from "preact/hooks";
import { visible } from "../../../src/base/visible.ts";
import { FENCE_END, type FormulaToken, MarkdownLexer } from "../session/markdown_rules.ts";
import { CodeBlock } from "./code_block.tsx";
import { Formula } from "./formula.tsx";

const LINK = /^(https?:\/\/|mailto:)/i;
const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/i;
const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w*);/gi;
/** Elements and texts of one piece: a table's short rows grow to the width of its head. */
const PARTS_MAX = 20_000;
const DEPTH_MAX = 100;
/** Of one piece, and their characters; more of them are shown as they were written. */
const FORMULAS_MAX = 200;
const TEX_MAX = 10_000;
/** Of one piece; each is a page of its own. */
const DIAGRAMS_MAX = 20;

/** Draws what stands in a text with an address that is not of the web; undefined for a text. */
export interface Inside {
  link(href: string, said: ComponentChildren): ComponentChildren;
  /** @param n how many images there were before */
  image(href: string, alt: string, n: number): ComponentChildren;
}

interface MarkdownProps {
  text: string;
  links?: Links;
  /** Not another one at each drawing. */
  inside?: Inside;
}

/** What a model or a tool wrote; what is nested too deep or grows too large is as it was written. */
export function Markdown({ text, links, inside }: MarkdownProps) {
  const drawn = useMemo(() => {
    try {
      return new Drawing(inside).all(new MarkdownLexer(links).lex(text));
    } catch (error) {
      // A thousand quotes in each other: the lexer calls itself for each.
      if (error instanceof RangeError) return <p class="md-written">{text}</p>;
      throw error;
    }
  }, [text, links, inside]);
  return <div class="markdown" dir="auto">{drawn}</div>;
}

class Drawing {
  readonly #inside: Inside | undefined;
  #images = 0;
  #parts = 0;
  #depth = 0;
  #formulas = 0;
  #tex = 0;
  #diagrams = 0;
  #in_link = false;

  constructor(inside?: Inside) {
    this.#inside = inside;
  }

  /** @throws {RangeError} for what is too deep or too large. */
  all(tokens: readonly Token[] = []): ComponentChildren {
    this.#parts += tokens.length;
    if (this.#parts > PARTS_MAX || this.#depth >= DEPTH_MAX) throw new RangeError("too large");
    this.#depth++;
    const drawn = tokens.map((it) => this.#one(it as Tokens.Generic));
    this.#depth--;
    return drawn;
  }

  #one(token: Tokens.Generic): ComponentChildren {
    const within = () => this.all(token.tokens);
    switch (token.type) {
      case "space":
      case "def":
        return null;
      case "strong":
      case "em":
      case "del":
      case "blockquote":
        return h(token.type, null, within());
      case "br":
      case "hr":
        return h(token.type, null);
      case "paragraph":
        return <p>{within()}</p>;
      // Not h1 to h6: what a model writes must not disturb the headings of the page.
      case "heading":
        return <p class={`md-heading md-h${token.depth}`}>{within()}</p>;
      case "code":
        if (token.lang === "mermaid" && ++this.#diagrams <= DIAGRAMS_MAX) {
          return (
            <CodeBlock language="mermaid" code={token.text} closed={FENCE_END.test(token.raw)} />
          );
        }
        return (
          <pre>
            <code>{token.text}</code>
          </pre>
        );
      case "codespan":
        return <code>{token.text}</code>;
      case "list":
        return h(
          token.ordered ? "ol" : "ul",
          token.ordered && token.start !== 1 ? { start: token.start } : null,
          token.items.map((item: Tokens.ListItem, n: number) => (
            <li key={n}>{this.all(item.tokens)}</li>
          )),
        );
      case "checkbox":
        return token.checked ? "☑ " : "☐ ";
      case "table":
        return this.#table(token as Tokens.Table);
      case "link": {
        this.#in_link = true;
        const said = within();
        this.#in_link = false;
        return this.#link(token.href, said);
      }
      case "image": {
        const { href, text } = token;
        if (IMAGE.test(href)) return <img src={href} alt={decoded(text)} />;
        const said = decoded(text || href);
        return this.#inside?.image(decoded(href), said, this.#images++) ??
          // There are no links in links.
          (this.#in_link ? said : this.#link(href, said));
      }
      case "formula":
        return this.#formula(token as FormulaToken);
      case "written":
        return <span class="md-written">{token.text}</span>;
      case "html":
      case "escape":
        return token.text;
      default:
        return token.tokens === undefined ? decoded(token.text ?? token.raw) : within();
    }
  }

  /** Shows where it leads, whatever it says. */
  #link(stated: string, said: ComponentChildren): ComponentChildren {
    const href = decoded(stated);
    if (!LINK.test(href)) return this.#inside?.link(href, said) ?? said;
    return <a href={href} title={href} target="_blank" rel="noopener noreferrer">{said}</a>;
  }

  #formula({ raw, tex, block }: FormulaToken): ComponentChildren {
    this.#tex += tex.length;
    if (++this.#formulas > FORMULAS_MAX || this.#tex > TEX_MAX) return <code>{raw}</code>;
    return <Formula raw={raw} tex={tex} block={block} />;
  }

  /** A wide one scrolls by itself: by keyboard, too. */
  #table({ header, rows }: Tokens.Table): ComponentChildren {
    const cells = (type: "th" | "td", row: readonly Tokens.TableCell[]) => {
      this.#parts += row.length;
      return (
        <tr>
          {row.map(({ align, tokens }) => h(type, { align: align ?? undefined }, this.all(tokens)))}
        </tr>
      );
    };
    return (
      <div class="md-table" tabIndex={0} role="group" aria-label="Table">
        <table>
          <thead>{cells("th", header)}</thead>
          {rows.length > 0 && <tbody>{rows.map((row) => cells("td", row))}</tbody>}
        </table>
      </div>
    );
  }
}

/** A text with its entities as characters. */
function decoded(text: string): string {
  const entities = text.match(ENTITY);
  if (entities === null) return text;
  // Of entities alone no elements can come.
  const html = entities.map((it) => `<i>${it}</i>`).join("");
  const read = new DOMParser().parseFromString(html, "text/html").body.children;
  let n = 0;
  return visible(text.replace(ENTITY, () => read[n++].textContent ?? ""));
}
