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
  readonly all = signal<readonly LineComment[]>([]);
  /** What is being written, which outlives its box: that goes when it is scrolled out of sight. */
  readonly drafts = new Map<string, string>();

  constructor(session_id: string) {
    this.#key = `svc.comments.${session_id}`;
    this.all.value = this.#stored();
  }

  add(comment: Omit<LineComment, "id">): void {
    this.#keep([...this.all.value, { ...comment, id: crypto.randomUUID() }]);
  }

  change(id: string, text: string): void {
    this.#keep(this.all.value.map((it) => it.id === id ? { ...it, text } : it));
  }

  remove(ids: readonly string[]): void {
    this.#keep(this.all.value.filter((it) => !ids.includes(it.id)));
  }

  #keep(all: readonly LineComment[]): void {
    this.all.value = all;
    try {
      if (all.length === 0) localStorage.removeItem(this.#key);
      else localStorage.setItem(this.#key, JSON.stringify(all));
    } catch {
      // They then last until the page closes.
    }
  }

  #stored(): LineComment[] {
    try {
      const all: unknown = JSON.parse(localStorage.getItem(this.#key) ?? "[]");
      return Array.isArray(all) ? all : [];
    } catch {
      return [];
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
    const fence = "`".repeat(Math.max(3, ...longest(it.quote)));
    return `${rangeText(it)}:\n${fence}\n${it.quote}\n${fence}\n${it.text.trim()}`;
  });
  const count = comments.length === 1 ? "A comment" : `${comments.length} comments`;
  return `${count} on the changes:\n\n${parts.join("\n\n")}`;
}

/** Longer than every run of backticks in a text. */
function longest(text: string): number[] {
  return (text.match(/`+/g) ?? []).map(({ length }) => length + 1);
}
