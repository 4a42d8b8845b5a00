/**
 * Markdown of models and tools as HTML that does nothing: HTML in it is shown as text, links lead to
 * the web only, images are data or links; then the sanitiser has its say.
 */
import DOMPurify from "dompurify";
import { Marked, Renderer, type Tokens } from "marked";
import { visible } from "../../../src/base/visible.ts";

const LINK = /^(https?:|mailto:)/i;
const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,/i;

const marked = new Marked({
  gfm: true,
  // A line that a model or a tool ended is one.
  breaks: true,
  renderer: {
    html: ({ text }) => escape(text),
    // Not h1 to h6: what a model writes must not disturb the headings of the page.
    heading({ tokens, depth }) {
      return `<p class="md-heading md-h${depth}">${this.parser.parseInline(tokens)}</p>`;
    },
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens));
    },
    image({ href, text }) {
      if (IMAGE.test(href)) return `<img src="${escape(href)}" alt="${escape(text)}">`;
      return link(href, escape(text || href));
    },
    // A wide one scrolls by itself: by keyboard, too.
    table(token) {
      const table = Renderer.prototype.table.call(this, token);
      return `<div class="md-table" tabindex="0" role="group" aria-label="Table">${table}</div>`;
    },
    checkbox: ({ checked }) => checked ? "☑ " : "☐ ",
    code({ text }: Tokens.Code) {
      return `<pre><code>${escape(text)}</code></pre>`;
    },
  },
});

const ALLOWED_TAGS = [
  "a",
  "blockquote",
  "br",
  "code",
  "del",
  "div",
  "em",
  "hr",
  "img",
  "li",
  "ol",
  "p",
  "pre",
  "strong",
  "table",
  "tbody",
  "td",
  "th",
  "thead",
  "tr",
  "ul",
];
const ALLOWED_ATTR = [
  "align",
  "alt",
  "aria-label",
  "class",
  "href",
  "rel",
  "role",
  "src",
  "start",
  "tabindex",
  "target",
  "title",
];

/** Characters of HTML that one piece may become: a table's short rows grow to the width of its head. */
const HTML_MAX = 500_000;

/** The HTML of a piece of Markdown; what is nested too deep or grows too large is shown as it was written. */
export function toHtml(markdown: string): string {
  const html = DOMPurify.sanitize(parsed(markdown) ?? `<p>${escape(markdown)}</p>`, {
    ALLOWED_TAGS,
    ALLOWED_ATTR,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ADD_URI_SAFE_ATTR: [],
  });
  // At the end: what was written as an entity is a character now.
  return visible(html);
}

function parsed(markdown: string): string | undefined {
  try {
    const html = marked.parse(markdown, { async: false });
    return html.length <= HTML_MAX ? html : undefined;
  } catch (error) {
    // A thousand quotes in each other: the parser calls itself for each.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function link(href: string, html: string): string {
  if (!LINK.test(href)) return html;
  // Where it leads, whatever it says.
  return `<a href="${escape(href)}" title="${
    escape(href)
  }" target="_blank" rel="noopener noreferrer">${html}</a>`;
}

function escape(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[char]!,
  );
}
