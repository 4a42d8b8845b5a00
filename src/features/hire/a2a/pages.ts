/** Merges pages of several lists, ordered by the time of the last change. */
import { noPageToken } from "../../tasks/common.ts";

export interface Page<T> {
  items: T[];
  /** The number of items on all pages together. */
  total: number;
  next_cursor?: string;
}

/** Returns a page of one list. @throws {SvcError} validation for an invalid cursor. */
export type Pager<T> = (limit: number, cursor: string | undefined) => Promise<Page<T>>;

/** Separates the cursors of the lists in a page token; no cursor contains it. */
const BETWEEN = "~";
/** The cursor of a list that has ended. */
const END = ".";

/**
 * Returns a page of all lists, most recently changed first.
 *
 * @param options.token the `next_cursor` of the previous page
 * @throws {SvcError} validation for an invalid token
 */
export async function pageOfAll<T>(
  pagers: readonly Pager<T>[],
  { limit, token, changedAt }: { limit: number; token?: string; changedAt(item: T): string },
): Promise<Page<T>> {
  const cursors = token === undefined ? pagers.map(() => "") : token.split(BETWEEN);
  if (cursors.length !== pagers.length) throw noPageToken(token!);
  const pages = await Promise.all(pagers.map(async (page, n) => {
    if (cursors[n] !== END) return await page(limit, cursors[n] || undefined);
    return { total: (await page(1, undefined)).total, items: [] };
  }));
  const merged = pages.flatMap(({ items }, list) => items.map((item) => ({ item, list })))
    .sort((a, b) => compare(changedAt(b.item), changedAt(a.item)))
    .slice(0, limit);
  const next = await Promise.all(pages.map(async ({ items, next_cursor }, list) => {
    const taken = merged.filter((it) => it.list === list).length;
    if (taken === items.length) return next_cursor ?? END;
    if (taken === 0) return cursors[list];
    return (await pagers[list](taken, cursors[list] || undefined)).next_cursor ?? END;
  }));
  return {
    items: merged.map(({ item }) => item),
    total: pages.reduce((sum, { total }) => sum + total, 0),
    next_cursor: next.every((cursor) => cursor === END) ? undefined : next.join(BETWEEN),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
