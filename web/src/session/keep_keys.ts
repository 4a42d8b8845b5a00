import type { Item } from "../../../src/session/view.ts";

/**
 * Gives the items of a conversation that was read anew the keys of those that are shown: what is
 * open stays open, and what has the focus keeps it. A checkpoint does not know the keys that its
 * items had before.
 */
export function keepKeys(shown: readonly Item[], read: readonly Item[]): void {
  const before = new Map<string, Item[]>();
  for (const item of shown) {
    const name = nameOf(item);
    const same = before.get(name);
    if (same === undefined) before.set(name, [item]);
    else same.push(item);
  }
  const keys = read.map((item) => {
    const same = before.get(nameOf(item)) ?? [];
    // Models use the ids of their calls again; kept calls have the seq at which their step began.
    while (same.length > 0 && same[0].seq < item.seq) same.shift();
    return same.shift()?.key;
  });
  const taken = new Set(keys);
  for (const [n, item] of read.entries()) {
    let key = keys[n];
    if (key === undefined) {
      for (key = item.key; taken.has(key);) key += "+";
      taken.add(key);
    }
    item.key = key;
  }
}

/** What tells an item from those of its kind, before and after a checkpoint. */
function nameOf(item: Item): string {
  const { kind, seq } = item;
  if (kind === "tool") return `${kind} ${item.call_id}`;
  return `${kind} ${seq > 0 || kind === "question" ? seq : item.text}`;
}
