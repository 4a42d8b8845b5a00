/** Which sessions of a list have changed since an earlier answer: clients poll it. */
import type { SessionItem } from "./session_item.ts";

/** What differs from an earlier answer. */
export interface ListChanges {
  /** Names this answer. */
  tag: string;
  /** New and changed ones; all of them if `whole`. */
  changed: SessionItem[];
  /** Ids of those that are no longer listed. */
  gone: string[];
  /** Whether the earlier answer is not known here. */
  whole: boolean;
}

interface Kept {
  item: SessionItem;
  json: string;
  revision: number;
}

/** Ids of sessions that are no longer listed, remembered for those who have not heard. */
const GONE_MAX = 10_000;

export class SessionListChanges {
  #name = crypto.randomUUID();
  #revision = 0;
  #kept = new Map<string, Kept>();
  #gone = new Map<string, number>();
  #last: readonly SessionItem[] | undefined;

  /**
   * Compares a list with those before.
   *
   * @param items the list as it is now
   * @param tag of an earlier answer
   */
  since(items: readonly SessionItem[], tag: string): ListChanges {
    if (items !== this.#last) this.#compare(items);
    this.#last = items;
    const from = this.#revisionOf(tag);
    const whole = from === undefined;
    return {
      tag: `${this.#name}.${this.#revision}`,
      changed: whole
        ? [...items]
        : [...this.#kept.values()].flatMap(({ item, revision }) => revision > from ? [item] : []),
      gone: whole ? [] : [...this.#gone].flatMap(([id, revision]) => revision > from ? [id] : []),
      whole,
    };
  }

  #compare(items: readonly SessionItem[]): void {
    const revision = this.#revision + 1;
    const before = this.#kept;
    this.#kept = new Map();
    for (const item of items) {
      const { id } = item;
      const known = before.get(id);
      before.delete(id);
      this.#gone.delete(id);
      this.#kept.set(id, known?.item === item ? known : compared(item, known, revision));
      if (this.#kept.get(id)!.revision === revision) this.#revision = revision;
    }
    for (const id of before.keys()) {
      this.#gone.set(id, revision);
      this.#revision = revision;
    }
    if (this.#gone.size <= GONE_MAX) return;
    this.#gone.clear();
    this.#name = crypto.randomUUID();
  }

  #revisionOf(tag: string): number | undefined {
    const revision = tag.startsWith(`${this.#name}.`)
      ? Number(tag.slice(this.#name.length + 1))
      : NaN;
    return revision >= 0 && revision <= this.#revision ? revision : undefined;
  }
}

function compared(item: SessionItem, known: Kept | undefined, revision: number): Kept {
  const json = JSON.stringify(item);
  return { item, json, revision: known?.json === json ? known.revision : revision };
}
