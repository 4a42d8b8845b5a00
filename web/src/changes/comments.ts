/** Comments on lines, kept in the browser until they are sent. */
import { signal } from "@preact/signals";
import { keep, kept } from "./kept.ts";

/** Lines of a file: as they are now, or as they were before. */
export interface LineRange {
  path: string;
  side: "old" | "new";
  from: number;
  to: number;
}

export interface LineComment extends LineRange {
  id: string;
  /** The lines when the comment was written. */
  quote: string;
  text: string;
}

export class Comments {
  readonly #key: string;
  /** Whether the browser keeps older ones than these. */
  #is_lost = false;
  readonly all = signal<readonly LineComment[]>([]);
  /** What is being written, which outlives its box: that goes when it is scrolled out of sight. */
  readonly drafts = new Map<string, string>();

  constructor(session_id: string) {
    this.#key = `svc.comments.${session_id}`;
    this.refresh();
  }

  add(comment: Omit<LineComment, "id">): void {
    this.#keep([...this.refresh(), { ...comment, id: crypto.randomUUID() }]);
  }

  change(id: string, text: string): void {
    this.#keep(this.refresh().map((it) => it.id === id ? { ...it, text } : it));
  }

  remove(ids: readonly string[]): void {
    this.#keep(this.refresh().filter((it) => !ids.includes(it.id)));
  }

  /** Keeps what was being written, as its box goes. @param begun the lines of a new comment */
  keepDraft(name: string, begun?: Omit<LineComment, "id" | "text">): void {
    const text = this.drafts.get(name)?.trim();
    this.drafts.delete(name);
    if (!text) return;
    if (begun === undefined) return this.change(name, text);
    const { path, side, from, to, quote } = begun;
    this.add({ path, side, from, to, quote, text });
  }

  /** Keeps all that was being written, as the panel goes. */
  keepDrafts(begun: Omit<LineComment, "id" | "text"> | undefined): void {
    for (const name of this.drafts.keys()) {
      this.keepDraft(name, begun && name === rangeText(begun) ? begun : undefined);
    }
  }

  /** Reads them again: another tab may have written or sent some. */
  refresh(): readonly LineComment[] {
    const stored = this.#is_lost ? undefined : kept(this.#key);
    if (stored !== undefined) this.all.value = JSON.parse(stored);
    return this.all.peek();
  }

  #keep(all: readonly LineComment[]): void {
    this.all.value = all;
    this.#is_lost = !keep(this.#key, JSON.stringify(all));
  }
}

/** Names the lines of a range: `lines 3–5`. */
export function linesText({ side, from, to }: LineRange): string {
  const before = side === "old" ? " before the change" : "";
  return `${from === to ? `line ${from}` : `lines ${from}–${to}`}${before}`;
}

/** Names the file and the lines of a range: `a.ts, lines 3–5`. */
export function rangeText(range: LineRange): string {
  return `${nameOf(range.path)}, ${linesText(range)}`;
}

/** One message with all comments, each with its file, its lines and their text. */
export function commentsText(comments: readonly LineComment[]): string {
  const sorted = comments.toSorted((one, other) =>
    one.path < other.path ? -1 : one.path > other.path ? 1 : one.from - other.from
  );
  const parts = sorted.map((it) => {
    const is_long = it.quote.length > QUOTE_CHARS;
    const quote = is_long ? `${it.quote.slice(0, QUOTE_CHARS)}…` : it.quote;
    const fence = "`".repeat(longest(quote));
    return `${rangeText(it)}:\n${fence}\n${quote}\n${fence}\n${it.text.trim()}`;
  });
  const count = comments.length === 1 ? "A comment" : `${comments.length} comments`;
  return `${count} on the changes:\n\n${parts.join("\n\n")}`;
}

/** A name with a line break would be read as words of the person. */
function nameOf(path: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(path) ? JSON.stringify(path) : path;
}

/** Characters of the lines that a message quotes for each comment. */
const QUOTE_CHARS = 4_000;

/** Longer than every run of backticks in a text. */
function longest(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length + 1), 3);
}

/** The same for the same comments, so that two tabs, or a second try, send them once. */
export function messageIdOf(comments: readonly LineComment[]): string {
  return `comments ${comments[0].id} ${comments.at(-1)!.id} ${commentsText(comments).length}`;
}
