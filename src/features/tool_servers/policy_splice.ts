/** Edits the text of policy.yaml where a server stands; every other byte stays as it is. */
import { parse } from "@std/yaml";
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  type Range,
  Scalar,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";

export type Members = Record<string, unknown>;

/** How the parts that are written anew look. */
type Style = Parameters<Document["toString"]>[0];

/** A part of a text, and what stands there instead. */
interface Splice {
  from: number;
  to: number;
  text: string;
}

/** The file has a shape that cannot be edited in its place, such as a list on one line. */
class Elsewhere extends Error {}

/**
 * Changes one entry of `mcp_servers`.
 *
 * @param at its place in the list; behind the last one, it is added
 * @param wanted undefined removes it
 * @returns undefined if the text cannot be edited in its place
 */
export function spliceServer(
  text: string,
  at: number,
  wanted: Members | undefined,
  style: Style,
): string | undefined {
  // A parser counts what it has read: the mark of the encoding would be no part of it.
  if (text.startsWith("\ufeff")) {
    const rest = spliceServer(text.slice(1), at, wanted, style);
    return rest === undefined ? undefined : `\ufeff${rest}`;
  }
  try {
    const splices = new Editor(text, style).change(at, wanted);
    return splices.sort((a, b) => b.from - a.from)
      .reduce((all, it) => all.slice(0, it.from) + it.text + all.slice(it.to), text);
  } catch (error) {
    if (error instanceof Elsewhere) return undefined;
    throw error;
  }
}

class Editor {
  readonly #text: string;
  readonly #style: Style;
  readonly #eol: string;

  constructor(text: string, style: Style) {
    this.#text = text;
    this.#style = style;
    this.#eol = text.includes("\r\n") ? "\r\n" : "\n";
  }

  change(at: number, wanted: Members | undefined): Splice[] {
    const { contents } = parseDocument(this.#text, { keepSourceTokens: true });
    if (contents === null && wanted !== undefined) return [this.#append(`mcp_servers:`, wanted)];
    if (!isMap(contents) || contents.flow) throw new Elsewhere();
    const list = contents.get("mcp_servers", true);
    if (list === undefined && wanted !== undefined) return [this.#append("mcp_servers:", wanted)];
    if (!isSeq(list)) throw new Elsewhere();
    if (list.items.length === 0) {
      if (wanted === undefined || !isPlain(list)) throw new Elsewhere();
      return this.#fill(list, wanted);
    }
    if (list.flow) throw new Elsewhere();
    const dashes = this.#dashes(list);
    if (wanted === undefined) return this.#remove(contents, list, dashes, at);
    if (at < list.items.length) return this.#entry(list.items[at], wanted);
    const { indent } = dashes.at(-1)!;
    const end = this.#belowOf(this.#lineEnd(this.#endOf(list.items.at(-1))), indent);
    return [this.#lines(end, this.#written([wanted], indent))];
  }

  /** Where the lines of the entries begin, and how far their dashes are indented. */
  #dashes({ srcToken }: YAMLSeq): { start: number; indent: string }[] {
    if (srcToken?.type !== "block-seq") throw new Elsewhere();
    return srcToken.items.map(({ start }) => {
      const dash = start.find(({ type }) => type === "seq-item-ind")!;
      const from = this.#lineStart(dash.offset);
      const indent = this.#text.slice(from, dash.offset);
      if (/\S/.test(indent)) throw new Elsewhere();
      return { start: from, indent };
    });
  }

  #remove(
    map: YAMLMap,
    list: YAMLSeq,
    dashes: { start: number; indent: string }[],
    at: number,
  ): Splice[] {
    const { start, indent } = dashes[at];
    const to = this.#belowOf(this.#lineEnd(this.#endOf(list.items[at])), indent);
    const splices = [{ from: start, to, text: "" }];
    if (list.items.length > 1) return splices;
    // The reader refuses a key without a list.
    const pair = map.items.find(({ value }) => value === list)!;
    const colon = pair.srcToken?.sep?.find(({ type }) => type === "map-value-ind");
    if (colon === undefined || !isPlain(list)) throw new Elsewhere();
    return [{ from: colon.offset + 1, to: colon.offset + 1, text: " []" }, ...splices];
  }

  /** Writes the first entry below `mcp_servers: []`. */
  #fill({ range }: YAMLSeq, wanted: Members): Splice[] {
    const [from, to] = range as Range;
    const blanks = this.#text.slice(0, from).match(/[ ]*$/)![0].length;
    return [
      { from: from - blanks, to, text: "" },
      this.#lines(this.#lineEnd(to), this.#written([wanted], "  ")),
    ];
  }

  #append(key: string, wanted: Members): Splice {
    if (/^(?:---|\.\.\.)/m.test(this.#text)) throw new Elsewhere();
    return this.#lines(this.#text.length, [key, ...this.#written([wanted], "  ")]);
  }

  /** Changes the members of an entry that differ, each in its own lines. */
  #entry(node: unknown, wanted: Members): Splice[] {
    if (isMap(node) && node.flow && isPlain(node)) return [this.#inline(node, wanted)];
    if (!isMap(node) || node.flow || node.srcToken?.type !== "block-map" || !isPlain(node)) {
      throw new Elsewhere();
    }
    const before = node.toJSON() as Members;
    const splices: Splice[] = [];
    let column = "";
    let last = 0;
    for (const [n, pair] of (node.items as Pair<Scalar>[]).entries()) {
      const [from] = pair.key.range as Range;
      const start = this.#lineStart(from);
      const end = this.#lineEnd(this.#endOf(pair.value ?? pair.key));
      column = " ".repeat(from - start);
      last = end;
      const key = String(pair.key.value);
      if (n > 0 && this.#text.slice(start, from) !== column) throw new Elsewhere();
      const value = wanted[key];
      if (JSON.stringify(before[key]) === JSON.stringify(value)) continue;
      if (value === undefined) {
        // Its line also has the dash.
        if (n === 0) throw new Elsewhere();
        splices.push({ from: start, to: end, text: "" });
        continue;
      }
      const document = parseDocument(this.#text.slice(from, end));
      if (document.errors.length > 0 || !isMap(document.contents)) throw new Elsewhere();
      setMembers(document, document.contents as YAMLMap, { [key]: value });
      const [first, ...more] = this.#linesOf(document);
      const lines = [first, ...more.map((line) => line === "" ? "" : `${column}${line}`)];
      const has_end = /\n$/.test(this.#text.slice(from, end));
      splices.push({ from, to: end, text: lines.join(this.#eol) + (has_end ? this.#eol : "") });
    }
    const added = Object.entries(wanted).filter(([key]) => !Object.hasOwn(before, key));
    if (added.length > 0) {
      splices.push(this.#lines(last, this.#written(Object.fromEntries(added), column)));
    }
    return splices;
  }

  /** Lines that are put in at the beginning of a line, or at the end of the text. */
  #lines(at: number, lines: readonly string[]): Splice {
    const is_open = at > 0 && this.#text[at - 1] !== "\n";
    return {
      from: at,
      to: at,
      text: (is_open ? this.#eol : "") + lines.map((line) => line + this.#eol).join(""),
    };
  }

  #written(value: unknown, indent: string): string[] {
    const document = parseDocument("");
    document.contents = createNode(document, value) as typeof document.contents;
    return this.#linesOf(document).map((line) => line === "" ? "" : `${indent}${line}`);
  }

  #linesOf(document: Document.Parsed): string[] {
    return document.toString(this.#style).trimEnd().split("\n");
  }

  /** Writes an entry on one line anew. */
  #inline(node: YAMLMap, wanted: Members): Splice {
    const [from, to] = node.range as Range;
    const document = parseDocument(this.#text.slice(from, to));
    if (document.errors.length > 0 || !isMap(document.contents)) throw new Elsewhere();
    setMembers(document, document.contents as YAMLMap, wanted);
    const column = " ".repeat(from - this.#lineStart(from));
    return { from, to, text: this.#linesOf(document).join(`${this.#eol}${column}`) };
  }

  /** Where a node ends, without the blank lines and comments below it. */
  #endOf(node: unknown): number {
    if (isMap(node) || isSeq(node)) {
      if (!node.flow && node.items.length > 0) {
        const last = node.items.at(-1);
        return this.#endOf(isMap(node) ? (last as Pair).value ?? (last as Pair).key : last);
      }
    }
    const [from, to] = (node as { range?: Range | null }).range ?? [];
    if (from === undefined || to === undefined) throw new Elsewhere();
    let end = to;
    while (end > from && /\s/.test(this.#text[end - 1])) end--;
    return end;
  }

  #lineStart(at: number): number {
    return this.#text.lastIndexOf("\n", at - 1) + 1;
  }

  /** Where the line after a place begins. */
  #lineEnd(at: number): number {
    const end = this.#text.indexOf("\n", at);
    return end < 0 ? this.#text.length : end + 1;
  }

  /** Behind the comments that stand inside an entry, below its last line. */
  #belowOf(end: number, indent: string): number {
    for (let at = end; at < this.#text.length;) {
      const next = this.#lineEnd(at);
      const [, blanks] = this.#text.slice(at, next).match(/^([ ]*)#/) ?? [];
      if (blanks === undefined || blanks.length <= indent.length) break;
      at = end = next;
    }
    return end;
  }
}

function isPlain({ anchor, tag }: { anchor?: string; tag?: string }): boolean {
  return anchor === undefined && tag === undefined;
}

/** Changes the members of a node that differ, so that comments stay beside the others. */
export function setMembers(document: Document, node: YAMLMap, wanted: Members): void {
  const before = node.toJSON() as Members;
  for (const key of Object.keys(before)) if (!Object.hasOwn(wanted, key)) node.delete(key);
  for (const [key, value] of Object.entries(wanted)) {
    if (JSON.stringify(before[key]) === JSON.stringify(value)) continue;
    const child = node.get(key, true);
    if (isMap(child) && typeof value === "object" && !Array.isArray(value)) {
      setMembers(document, child, value as Members);
    } else if (isSeq(child) && Array.isArray(value)) setItems(document, child, value);
    else if (isScalar(child) && typeof value !== "object") setScalar(child, value);
    else node.set(document.createNode(key), createNode(document, value));
  }
}

function setItems(document: Document, node: YAMLSeq, wanted: readonly unknown[]): void {
  for (let n = node.items.length - 1; n >= wanted.length; n--) node.delete(n);
  for (const [n, value] of wanted.entries()) {
    const child = node.get(n, true);
    if (isScalar(child) && typeof value !== "object") {
      if (child.value !== value) setScalar(child, value);
    } else node.set(n, createNode(document, value));
  }
}

function setScalar(node: Scalar, value: unknown): void {
  node.value = value;
  if (typeof value === "string") quote(node);
}

/** A value as a node that the reader takes for the same. */
export function createNode(document: Document, value: unknown): unknown {
  const node = document.createNode(value);
  visit(node as Parameters<typeof visit>[0], {
    Scalar: (_, it) => typeof it.value === "string" ? quote(it) : undefined,
  });
  return node;
}

/** The reader also takes 1_000 for a number and 2026-01-01 for a date; the writer does not. */
function quote(node: Scalar): void {
  if (node.type !== undefined && node.type !== Scalar.PLAIN) return;
  let read: unknown;
  try {
    read = parse(String(node.value));
  } catch {
    // The writer sees that too.
    return;
  }
  if (typeof read !== "string") node.type = Scalar.QUOTE_DOUBLE;
}
