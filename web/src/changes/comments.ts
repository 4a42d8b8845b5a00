/** Comments on lines, kept in the browser until they are sent. */
import { signal } from "@preact/signals";

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

  /** Follows what other tabs of the session write. @returns what ends it */
  follow(): () => void {
    const onStorage = ({ key }: StorageEvent) => key === this.#key && this.refresh();
    addEventListener("storage", onStorage);
    return () => removeEventListener("storage", onStorage);
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

  /** Reads them again: another tab may have written or sent some. */
  refresh(): readonly LineComment[] {
    const stored = this.#stored();
    if (stored !== undefined) this.all.value = stored;
    return this.all.peek();
  }

  #keep(all: readonly LineComment[]): void {
    this.all.value = all;
    try {
      if (all.length === 0) localStorage.removeItem(this.#key);
      else localStorage.setItem(this.#key, JSON.stringify(all));
      this.#is_lost = false;
    } catch {
      // They then last until the page closes.
      this.#is_lost = true;
    }
  }

  /** @returns undefined where nothing can be kept */
  #stored(): LineComment[] | undefined {
    if (this.#is_lost) return undefined;
    try {
      const all: unknown = JSON.parse(localStorage.getItem(this.#key) ?? "[]");
      return Array.isArray(all) ? all : [];
    } catch {
      return undefined;
    }
  }
}

/** Names the lines of a range: `a.ts, lines 3–5`. */
export function rangeText({ path, side, from, to }: LineRange): string {
  const before = side === "old" ? " before the change" : "";
  return `${path}, ${from === to ? `line ${from}` : `lines ${from}–${to}`}${before}`;
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
    const about = rangeText({ ...it, path: nameOf(it.path) });
    return `${about}:\n${fence}\n${quote}\n${fence}\n${it.text.trim()}`;
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
  const ids = comments.map(({ id }) => id).sort();
  return `comments ${ids.length} ${ids[0]} ${ids.at(-1)} ${commentsText(comments).length}`;
}
