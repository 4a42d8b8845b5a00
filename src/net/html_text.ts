/** Turns a web page into short, readable text for a model. */

import { setImmediate } from "node:timers/promises";
import { Tokenizer, type TokenizerCallbacks } from "htmlparser2";

const BLOCKS = new Set(
  ("address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption " +
    "figure footer form header hgroup legend li main nav ol section summary table tr ul").split(
      " ",
    ),
);
const PARAGRAPHS = new Set("p pre h1 h2 h3 h4 h5 h6 hr table blockquote ul ol dl".split(" "));
const UNSEEN = new Set(
  "script style template svg math iframe object canvas audio video datalist".split(" "),
);
const SLICE = 16 * 1024;

/**
 * Extracts an HTML document's text: its title, then blocks, with `#` before headings, `-` before
 * list items and the address after each link. Parses in slices, to yield between them.
 *
 * @param html the document, or the beginning of one
 * @param base the address that its links are relative to
 *
 * @example
 * ```ts
 * await htmlToText(`<h1>Hi</h1><p>See <a href="/b">there</a>.`, "http://a.example/");
 * // "# Hi\n\nSee there (http://a.example/b)."
 * ```
 */
export async function htmlToText(html: string, base: string): Promise<string> {
  const text = new PageText(base);
  // Not the parser: its stack of open elements takes quadratic time on a page of opening tags.
  const tokenizer = new Tokenizer({ xmlMode: false, decodeEntities: true }, tokens(html, text));
  for (let at = 0; at < html.length; at += SLICE) {
    if (at > 0) await setImmediate();
    tokenizer.write(html.slice(at, at + SLICE));
  }
  tokenizer.end();
  return text.toString();
}

/** Builds tags from tokens; positions count from the first slice. */
function tokens(html: string, text: PageText): TokenizerCallbacks {
  let name = "";
  let attribute = "";
  let value = "";
  let attributes: Record<string, string> = {};
  const nothing = () => {};
  return {
    ontext: (start, end) => text.add(html.slice(start, end)),
    ontextentity: (codepoint) => text.add(String.fromCodePoint(codepoint)),
    onopentagname(start, end) {
      name = html.slice(start, end).toLowerCase();
      attributes = {};
    },
    onattribname(start, end) {
      attribute = html.slice(start, end).toLowerCase();
      value = "";
    },
    onattribdata: (start, end) => value += html.slice(start, end),
    onattribentity: (codepoint) => value += String.fromCodePoint(codepoint),
    onattribend: () => attributes[attribute] ??= value,
    onopentagend: () => text.open(name, attributes),
    onselfclosingtag() {
      text.open(name, attributes);
      if (name === "svg" || name === "math") text.close(name);
    },
    onclosetag: (start, end) => text.close(html.slice(start, end).toLowerCase()),
    oncdata: nothing,
    oncomment: nothing,
    ondeclaration: nothing,
    onprocessinginstruction: nothing,
    onend: nothing,
  };
}

class PageText {
  readonly #base: string;
  #title = "";
  #in_title = false;
  #written: string[] = [];
  #unseen = 0;
  #preformatted = false;
  #cells = 0;
  #link: { href: string; at: number } | undefined;
  /** Newlines due before the next text. */
  #breaks = 0;
  #space = false;

  constructor(base: string) {
    this.#base = base;
  }

  open(name: string, attributes: Record<string, string>): void {
    if (UNSEEN.has(name)) this.#unseen++;
    if (this.#unseen > 0) return;
    this.#breakFor(name);
    if (name === "title" && this.#title === "") this.#in_title = true;
    else if (name === "br") this.#breaks = Math.min(2, this.#breaks + 1);
    else if (name === "hr") this.add("---");
    else if (name === "li") this.#write("- ");
    else if (/^h[1-6]$/.test(name)) this.#write(`${"#".repeat(Number(name[1]))} `);
    else if (name === "tr") this.#cells = 0;
    else if (name === "td" || name === "th") this.#openCell();
    else if (name === "pre") this.#preformatted = true;
    else if (name === "img") this.#addImage(attributes.alt);
    else if (name === "a") this.#openLink(attributes.href);
  }

  close(name: string): void {
    if (UNSEEN.has(name)) {
      this.#unseen = Math.max(0, this.#unseen - 1);
      return;
    }
    if (this.#unseen > 0) return;
    if (name === "title") this.#in_title = false;
    else if (name === "pre") this.#preformatted = false;
    else if (name === "a") this.#closeLink();
    this.#breakFor(name);
  }

  add(data: string): void {
    if (this.#unseen > 0) return;
    if (this.#in_title) {
      this.#title += data;
      return;
    }
    if (this.#preformatted) {
      if (data !== "") this.#write(data);
      return;
    }
    const words = data.replace(/[\s\u00a0\u200b]+/g, " ").trim();
    if (/^[\s\u00a0]/.test(data)) this.#space = true;
    if (words === "") return;
    this.#write(words);
    this.#space = /[\s\u00a0]$/.test(data);
  }

  toString(): string {
    const title = this.#title.replace(/\s+/g, " ").trim();
    const body = this.#written.join("").trim();
    return title === "" || body.startsWith(`# ${title}`) ? body : `${title}\n\n${body}`.trim();
  }

  #breakFor(name: string): void {
    if (PARAGRAPHS.has(name)) this.#breaks = Math.max(this.#breaks, 2);
    else if (BLOCKS.has(name)) this.#breaks = Math.max(this.#breaks, 1);
  }

  #write(text: string): void {
    if (this.#breaks > 0) {
      // Empty marks such as "- " take the next text onto their line.
      const open = this.#written.length === 0 || MARK.test(this.#written.at(-1)!);
      if (!open) this.#written.push("\n".repeat(this.#breaks));
    } else if (this.#space && this.#written.length > 0 && !/\s$/.test(this.#written.at(-1)!)) {
      this.#written.push(" ");
    }
    this.#breaks = 0;
    this.#space = false;
    this.#written.push(text);
  }

  #openCell(): void {
    if (this.#cells++ > 0) this.add(" | ");
  }

  #addImage(alt: string | undefined): void {
    if (alt !== undefined && alt.trim() !== "") this.add(`[image: ${alt.trim()}]`);
  }

  #openLink(href: string | undefined): void {
    // Links do not nest: an open one ends here.
    this.#closeLink();
    if (href !== undefined && !href.startsWith("#")) {
      this.#link = { href, at: this.#written.length };
    }
  }

  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined) return;
    const url = URL.parse(link.href, this.#base);
    if (url === null || !["http:", "https:", "mailto:"].includes(url.protocol)) return;
    const shown = this.#written.slice(link.at).join("").trim();
    if (shown === "" || shown === url.href || shown === link.href) return;
    this.#space = true;
    this.#write(`(${url.href})`);
  }
}

const MARK = /^(?:- |#{1,6} )$/;
