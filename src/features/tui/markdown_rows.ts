/** Markdown of answers as rows of the screen. Large; loaded once a terminal shows some. */
import { getDefaults, Lexer, type Token, type Tokens } from "marked";
import { tokensOf } from "../../base/highlight/grammars.ts";
import { languageOf, languageOfPath } from "../../base/highlight/languages.ts";
import { MarkdownTokenizer } from "../../base/markdown_tokenizer.ts";
import { linesOf, type Token as Coloured, type Tone } from "../../base/highlight/tokens.ts";
import type { LaidMarkdown } from "./layout.ts";
import {
  beside,
  cutLine,
  type Line,
  line,
  lineText,
  type Span,
  type Style,
  width,
  wrapLine,
} from "./text.ts";

const OPTIONS = { ...getDefaults(), breaks: true, tokenizer: new MarkdownTokenizer() };

/** Longer code has no colours. */
const CODE_MAX = 20_000;
/** Longer addresses are no links. */
const HREF_MAX = 2_000;
const LINKED = ["http:", "https:", "mailto:"];
/** Narrower columns of a table stand below each other. */
const COLUMN_MIN = 4;
/** Narrower blocks are shown as they were written. */
const BLOCK_MIN = 8;

/**
 * Lays out Markdown.
 *
 * @param text clean text that begins with a block
 * @param begins whether nothing stands above it
 * @returns its rows, and how much of them cannot change when the text grows
 */
export function layMarkdown(text: string, cols: number, begins: boolean): LaidMarkdown {
  const tokens = Lexer.lex(text, OPTIONS);
  const last = tokens.findLastIndex(({ type }) => type !== "space");
  const done = tokens.slice(0, Math.max(last, 0));
  const length = done.reduce((sum, { raw }) => sum + raw.length, 0);
  const certain = text[length - 1] === "\n" ? done : [];
  const lines = certain.length === 0 ? 0 : text.slice(0, length).split("\n").length - 1;
  const above = blocks(certain, cols, begins);
  const rows = blocks(tokens.slice(certain.length), cols, begins && above.length === 0);
  return { rows: [...above, ...rows], final_rows: above.length, final_lines: lines };
}

/** Blocks below each other, with a blank row before each but the first. */
function blocks(tokens: readonly Token[], cols: number, begins: boolean): Line[] {
  const rows: Line[] = [];
  for (const token of tokens) {
    const own = block(token, cols);
    if (own.length === 0) continue;
    if (!begins || rows.length > 0) rows.push([]);
    rows.push(...own);
  }
  return rows;
}

function block(token: Token, cols: number): Line[] {
  if (cols < BLOCK_MIN) return plain(token.raw, cols);
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      return inlineRows((token as Tokens.Heading).tokens, cols, "bold");
    case "paragraph":
      return inlineRows((token as Tokens.Paragraph).tokens, cols);
    case "text":
      return inlineRows((token as Tokens.Text).tokens ?? [token], cols);
    case "code":
      return codeRows(token as Tokens.Code, cols);
    case "list":
      return listRows(token as Tokens.List, cols);
    case "blockquote":
      return blocks((token as Tokens.Blockquote).tokens, cols - 2, true)
        .map((row) => [beside("│ ", "dim"), ...row]);
    case "table":
      return tableRows(token as Tokens.Table, cols);
    case "hr":
      return [line("─".repeat(Math.min(cols, 40)), "dim")];
    default:
      return plain(token.raw, cols);
  }
}

function plain(raw: string, cols: number): Line[] {
  return raw.replace(/\n+$/, "").split("\n").flatMap((text) => wrapLine(line(text), cols));
}

// ── lists ──────────────────────────────────────────────────────────────────────────────────────

function listRows(
  { items, ordered, start, loose, raw }: Tokens.List,
  cols: number,
): Line[] {
  const first = start === "" ? 1 : start;
  const room = ordered ? `${first + items.length - 1}. `.length : 2;
  if (cols < room + BLOCK_MIN) return plain(raw, cols);
  return items.flatMap((item, n) => {
    const box = item.task ? item.checked ? "☑ " : "☐ " : "";
    const mark = `${ordered ? `${first + n}. `.padStart(room) : "• "}${box}`;
    const indent = width(mark);
    const inner = item.tokens.filter(({ type }) => type !== "checkbox");
    const rows = loose
      ? blocks(inner, cols - indent, true)
      : inner.flatMap((token) => block(token, cols - indent));
    const shown = rows.length === 0 ? [[]] : rows;
    const gap: Line[] = loose && n > 0 ? [[]] : [];
    return [
      ...gap,
      ...shown.map((row, at): Line => [
        { text: at === 0 ? mark : " ".repeat(indent), style: "accent" },
        ...row,
      ]),
    ];
  });
}

// ── code ───────────────────────────────────────────────────────────────────────────────────────

const TONES: Record<Tone, Style> = {
  keyword: "keyword",
  string: "string",
  number: "number",
  comment: "comment",
  title: "title",
  type: "title",
  addition: "added",
  deletion: "removed",
};

/** Beside each row of code. */
const CODE_EDGE = "│ ";

/** The name of a block's language, as it was written: the first word behind the fence. */
function languageLabel(lang: string): string {
  return lang.trim().split(/[\s,{]/)[0];
}

function codeRows({ text, lang = "" }: Tokens.Code, cols: number): Line[] {
  const label = languageLabel(lang);
  return [
    ...label === "" ? [] : [cutLine([beside(CODE_EDGE, "dim"), ...line(label, "dim")], cols)],
    ...coloured(text, lang).flatMap((row) =>
      wrapLine(row, cols - CODE_EDGE.length)
        .map((part): Line => [beside(CODE_EDGE, "dim"), ...part])
    ),
  ];
}

/** Colours a line of code in the language of its file, if it is known. */
export function colouredLine(code: string, path: string): Line | undefined {
  const language = languageOfPath(path);
  return language === undefined ? undefined : spansOf(tokensOf(code, language));
}

function spansOf(tokens: readonly Coloured[]): Span[] {
  return tokens.map(({ text, tone }) => ({
    text,
    style: tone === undefined ? "plain" : TONES[tone],
  }));
}

function coloured(code: string, lang: string): Line[] {
  const language = languageOf(languageLabel(lang));
  if (language === undefined || code.length > CODE_MAX) {
    return code.split("\n").map((text) => line(text, "code"));
  }
  return linesOf(tokensOf(code, language)).map(spansOf);
}

// ── tables ─────────────────────────────────────────────────────────────────────────────────────

const BETWEEN = " │ ";

function tableRows({ header, rows }: Tokens.Table, cols: number): Line[] {
  const heads = header.map(({ tokens }) => inline(tokens, "bold"));
  const cells = rows.map((row) => row.map(({ tokens }) => inline(tokens, "plain")));
  const widths = fitted(
    heads.map((head, n) =>
      Math.max(...[head, ...cells.map((row) => row[n] ?? [])].map((it) => width(lineText(it))), 1)
    ),
    cols - BETWEEN.length * (heads.length - 1),
  );
  if (widths === undefined) return stackedRows(heads, cells, cols);
  const rule = widths.map((it) => "─".repeat(it)).join("─┼─");
  return [
    ...besideRows(heads, widths),
    line(rule, "dim"),
    ...cells.flatMap((row) => besideRows(row, widths)),
  ];
}

/** Narrows the widest columns until all fit; undefined when they would be too narrow. */
function fitted(widths: readonly number[], room: number): number[] | undefined {
  const sum = (max: number) => widths.reduce((all, it) => all + Math.min(it, max), 0);
  let max = Math.min(Math.max(...widths), Math.max(room, 1));
  while (sum(max) > room && max >= COLUMN_MIN) max--;
  return max < COLUMN_MIN && sum(max) > room ? undefined : widths.map((it) => Math.min(it, max));
}

function besideRows(cells: readonly Line[], widths: readonly number[]): Line[] {
  const columns = widths.map((cols, n) => wrapLine(cells[n] ?? [], cols));
  const height = Math.max(...columns.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) =>
    columns.flatMap((rows, n): Span[] => {
      // A cell goes on in its column, not with the row above.
      const row = (rows[at] ?? []).map(({ joins: _, ...span }) => span);
      const last = n === columns.length - 1;
      const pad = last ? "" : " ".repeat(Math.max(widths[n] - width(lineText(row)), 0));
      return [...row, { text: pad, style: "plain" }, { text: last ? "" : BETWEEN, style: "dim" }];
    }));
}

/** A table without room for its columns: each row as a list of its cells. */
function stackedRows(heads: readonly Line[], cells: readonly Line[][], cols: number): Line[] {
  return cells.flatMap((row, n) => [
    ...(n === 0 ? [] : [line("─".repeat(Math.min(cols, BLOCK_MIN)), "dim")]),
    ...row.flatMap((cell, at) =>
      wrapLine([...heads[at] ?? [], { text: ": ", style: "plain" }, ...cell], cols)
    ),
  ]);
}

// ── text in a line ─────────────────────────────────────────────────────────────────────────────

function inlineRows(tokens: readonly Token[], cols: number, style: Style = "plain"): Line[] {
  const lines: Span[][] = [[]];
  for (const span of inline(tokens, style)) {
    for (const [n, text] of span.text.split("\n").entries()) {
      if (n > 0) lines.push([]);
      if (text !== "") lines.at(-1)!.push({ ...span, text });
    }
  }
  return lines.flatMap((it) => wrapLine(it, cols));
}

function inline(tokens: readonly Token[], style: Style): Span[] {
  return tokens.flatMap((token): Span[] => {
    switch (token.type) {
      case "strong":
        return inline((token as Tokens.Strong).tokens, "bold");
      case "em":
        return inline((token as Tokens.Em).tokens, style === "plain" ? "italic" : style);
      case "del":
        return inline((token as Tokens.Del).tokens, "dim");
      case "codespan":
        return [{ text: (token as Tokens.Codespan).text, style: "code" }];
      case "br":
        return [{ text: "\n", style }];
      case "link":
        return linkSpans(token as Tokens.Link);
      case "image":
        return imageSpans(token as Tokens.Image);
      case "text": {
        const { tokens: inner, text } = token as Tokens.Text;
        return inner === undefined ? [{ text: entities(text), style }] : inline(inner, style);
      }
      case "checkbox":
        return [];
      case "escape":
        return [{ text: (token as Tokens.Escape).text, style }];
      default:
        return [{ text: token.raw, style }];
    }
  });
}

/** An image as its description and its address; the data of one that stands in the text is left out. */
function imageSpans({ text, href }: Tokens.Image): Span[] {
  const label = `image${text === "" ? "" : `: ${text.replaceAll("\n", " ")}`}`;
  const [, type] = /^data:([^;,]{0,40})/i.exec(href) ?? [];
  if (type === undefined) return linkSpans({ text: label, href, tokens: [] });
  return [{ text: label, style: "underline" }, { text: ` (${type || "data"})`, style: "dim" }];
}

/**
 * A link with its address behind it, so that the text cannot hide where it leads. A bare address is
 * only text: terminals find those themselves.
 */
function linkSpans({ text, href, tokens }: Pick<Tokens.Link, "text" | "href" | "tokens">): Span[] {
  const shown = tokens.length === 0
    ? [{ text, style: "underline" as const }]
    : inline(tokens, "underline");
  if ([text, `mailto:${text}`, `http://${text}`].includes(href)) return shown;
  const target = targetOf(href);
  return [
    ...shown.map((span) => target === undefined ? span : { ...span, href: target }),
    { text: ` (${href})`, style: "dim" },
  ];
}

/** The address of a link as a terminal gets it: ASCII, and to the web or a mailbox only. */
function targetOf(href: string): string | undefined {
  if (!URL.canParse(href) || href.length > HREF_MAX) return undefined;
  const { protocol, href: target } = new URL(href);
  return LINKED.includes(protocol) && /^[\x21-\x7e]+$/.test(target) ? target : undefined;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&gt;": ">",
  "&lt;": "<",
  "&quot;": '"',
  "&#39;": "'",
};

function entities(text: string): string {
  return text.replaceAll(/&(?:amp|gt|lt|quot|#39);/g, (it) => ENTITIES[it]);
}
