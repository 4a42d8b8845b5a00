/**
 * Markdown of models and tools as elements that do nothing: HTML in it is text, links lead to the
 * web only, images are data or links. No HTML is made of it.
 */
import { Lexer, type Token, type Tokens } from "marked";
import { type ComponentChildren, h } from "preact";
import { useMemo } from "preact/hooks";
import { type FormulaToken, MARKDOWN } from "../session/markdown_rules.ts";
import { Formula } from "./formula.tsx";

const LINK = /^(https?:|mailto:)/i;
const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/i;
const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w*);/gi;
/** Elements and texts of one piece: a table's short rows grow to the width of its head. */
const PARTS_MAX = 20_000;
const DEPTH_MAX = 100;
/** Of one piece; more of them are shown as they were written. */
const FORMULAS_MAX = 200;

/** What a model or a tool wrote; what is nested too deep or grows too large is as it was written. */
export function Markdown({ text }: { text: string }) {
  const drawn = useMemo(() => {
    try {
      return new Drawing().all(new Lexer(MARKDOWN).lex(text));
    } catch (error) {
      // A thousand quotes in each other: the lexer calls itself for each.
      if (error instanceof RangeError) return <p>{text}</p>;
      throw error;
    }
  }, [text]);
  return <div class="markdown" dir="auto">{drawn}</div>;
}

class Drawing {
  #parts = 0;
  #depth = 0;
  #formulas = 0;

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
      case "link":
        return link(token.href, within());
      case "image":
        if (IMAGE.test(token.href)) return <img src={token.href} alt={decoded(token.text)} />;
        return link(token.href, decoded(token.text) || token.href);
      case "formula":
        return this.#formula(token as FormulaToken);
      case "html":
      case "escape":
        return token.text;
      default:
        return token.tokens === undefined ? decoded(token.text ?? token.raw) : within();
    }
  }

  #formula({ raw, tex, block }: FormulaToken): ComponentChildren {
    if (++this.#formulas > FORMULAS_MAX) return <code>{raw}</code>;
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

/** Shows where it leads, whatever it says. */
function link(href: string, said: ComponentChildren): ComponentChildren {
  if (!LINK.test(href)) return said;
  return <a href={href} title={href} target="_blank" rel="noopener noreferrer">{said}</a>;
}

/** A text with its entities as characters. */
function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    ENTITY,
    // An entity alone: no element can come of it.
    (entity) => new DOMParser().parseFromString(entity, "text/html").body.textContent ?? entity,
  );
}
