/**
 * Markdown of models and tools, drawn element by element: nothing of it is ever read as HTML. HTML in
 * it is shown as text, links lead to the web only, images are data or links.
 */
import { Lexer, type Token, type Tokens } from "marked";
import { type ComponentChildren, Fragment, h } from "preact";
import { useMemo } from "preact/hooks";

const LINK = /^(https?:|mailto:)/i;
const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/i;
const ENTITY = /&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,31});/gi;

/** Elements of one piece: a table's short rows grow to the width of its head. */
const ELEMENTS_MAX = 25_000;
/** Elements in each other: for each, the renderer calls itself. */
const DEPTH_MAX = 100;

/** What a model or a tool wrote; what is nested too deep or grows too large is shown as it was written. */
export function Markdown({ text }: { text: string }) {
  const drawn = useMemo(() => new Drawing().of(text) ?? <p>{text}</p>, [text]);
  return <div class="markdown" dir="auto">{drawn}</div>;
}

class TooLarge extends Error {}

/** Draws one piece, and counts what it has drawn. */
class Drawing {
  #elements = 0;
  #depth = 0;

  /** @returns nothing when the piece is too large, or nested too deep. */
  of(markdown: string): ComponentChildren {
    try {
      // A line that a model or a tool ended is one.
      return this.#all(new Lexer({ gfm: true, breaks: true }).lex(markdown));
    } catch (error) {
      // The lexer calls itself for each of a thousand quotes in each other.
      if (error instanceof TooLarge || error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #all(tokens: readonly Token[] = []): ComponentChildren[] {
    if (++this.#depth > DEPTH_MAX) throw new TooLarge();
    const drawn = tokens.map((token) => this.#one(token));
    this.#depth--;
    return drawn;
  }

  #element(
    tag: string | typeof Fragment,
    attributes: Record<string, unknown> | null,
    ...children: ComponentChildren[]
  ): ComponentChildren {
    if (++this.#elements > ELEMENTS_MAX) throw new TooLarge();
    return h(tag as string, attributes, ...children);
  }

  #one(token: Token): ComponentChildren {
    switch (token.type) {
      case "space":
      case "def":
        return null;
      case "br":
      case "hr":
        return this.#element(token.type, null);
      case "strong":
      case "em":
      case "del":
      case "blockquote":
        return this.#element(token.type, null, this.#all(token.tokens));
      case "paragraph":
        return this.#element("p", null, this.#all(token.tokens));
      case "heading":
        // Not h1 to h6: what a model writes must not disturb the headings of the page.
        return this.#element(
          "p",
          { class: `md-heading md-h${token.depth}` },
          this.#all(token.tokens),
        );
      case "list": {
        const { ordered, start, items } = token as Tokens.List;
        return this.#element(
          ordered ? "ol" : "ul",
          ordered && start !== 1 ? { start } : null,
          items.map((item) => this.#element("li", null, this.#all(item.tokens))),
        );
      }
      case "table":
        return this.#table(token as Tokens.Table);
      case "code":
        return this.#element("pre", null, this.#element("code", null, token.text));
      case "codespan":
        return this.#element("code", null, token.text);
      case "checkbox":
        return token.checked ? "☑ " : "☐ ";
      case "link": {
        // Of an address that stands alone, the text is the address.
        const { href, text, tokens, autolink } = token as Tokens.Link & { autolink?: boolean };
        return this.#link(href, autolink ? text : this.#all(tokens));
      }
      case "image":
        return IMAGE.test(token.href)
          ? this.#element("img", { src: token.href, alt: token.text })
          : this.#link(token.href, token.text || token.href);
      case "text":
        if (token.tokens) return this.#element(Fragment, null, this.#all(token.tokens));
        return token.escaped ? token.text : decoded(token.text);
      default:
        return "text" in token ? token.text : null;
    }
  }

  #link(href: string, shown: ComponentChildren): ComponentChildren {
    if (!LINK.test(href)) return this.#element(Fragment, null, shown);
    // The title says where it leads, whatever the text says.
    const attributes = { href, title: href, target: "_blank", rel: "noopener noreferrer" };
    return this.#element("a", attributes, shown);
  }

  #table({ header, rows }: Tokens.Table): ComponentChildren {
    const row = (tag: string, cells: readonly Tokens.TableCell[]) =>
      this.#element(
        "tr",
        null,
        cells.map(({ align, tokens }) =>
          this.#element(tag, align ? { align } : null, this.#all(tokens))
        ),
      );
    const head = this.#element("thead", null, row("th", header));
    const body = rows.length > 0 &&
      this.#element("tbody", null, rows.map((cells) => row("td", cells)));
    // A wide one scrolls by itself: by keyboard, too.
    const scrolls = { class: "md-table", tabIndex: 0, role: "group", "aria-label": "Table" };
    return this.#element("div", scrolls, this.#element("table", null, head, body));
  }
}

/** A text whose entities, such as `&copy;`, are their characters. */
function decoded(text: string): string {
  return text.replace(ENTITY, (entity) => {
    // It holds text only, whatever is put into it.
    const box = document.createElement("textarea");
    box.innerHTML = entity;
    // Of an unknown name, the browser may take a part that it knows.
    return box.value.length > 1 && box.value.endsWith(";") ? entity : box.value;
  });
}
