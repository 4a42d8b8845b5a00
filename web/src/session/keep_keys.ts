import type { Item } from "../../../src/session/view.ts";

/**
 * Gives the items of a conversation that was read anew the keys of those that are shown: what is
 * open stays open, and what has the focus keeps it. A checkpoint does not know the keys that its
 * items had before.
 */
export function keepKeys(shown: readonly Item[], read: readonly Item[]): void {
  const before = Map.groupBy(shown, nameOf);
  const keys = new Set(shown.map(({ key }) => key));
  for (const item of read) {
    const same = before.get(nameOf(item)) ?? [];
    // Models use the ids of their calls again; kept calls have the seq at which their step began.
    while (same.length > 0 && same[0].seq < item.seq) same.shift();
    let key = same.shift()?.key;
    if (!key) {
      for (key = item.key; keys.has(key);) key += "+";
      keys.add(key);
    }
    item.key = key;
  }
}

/** What tells an item from those of its kind, before and after a checkpoint. */
function nameOf(item: Item): string {
  return `${item.kind} ${item.kind === "tool" ? item.call_id : item.seq}`;
}
