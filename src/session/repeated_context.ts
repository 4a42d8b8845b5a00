/** Finds messages from svc that later ones repeat. */
import type { ToldPart } from "../protocol/events.ts";

/** A message from svc to the model. */
export interface Told {
  told: string;
  /** Files whose rules it adds or revokes. */
  files?: string[];
  /** Position of each file's rules or each fact; absent once cut. */
  parts?: readonly ToldPart[];
}

/** The rest of a message; undefined when nothing is left. */
type Left = Pick<Told, "told" | "parts"> | undefined;

/** Returns the messages that later ones repeat, with the rest of each. */
export function toldAgain<T extends object>(items: readonly T[]): Map<T, Left> {
  const later = new Set<string>();
  const found = new Map<T, Left>();
  for (const item of items.toReversed()) {
    if (!("told" in item)) continue;
    const { told, files = [], parts = [] } = item as Told;
    const about = new Set([...files, ...parts.map((it) => it.about)]);
    if (about.size > 0 && about.isSubsetOf(later)) found.set(item, undefined);
    else if (!about.isDisjointFrom(later)) found.set(item, without(told, parts, later));
    for (const each of about) later.add(each);
  }
  return found;
}

/** Removes from a text the parts that are repeated later. */
function without(text: string, parts: readonly ToldPart[], later: ReadonlySet<string>): Left {
  const left: ToldPart[] = [];
  let told = "";
  let end = 0;
  for (const { about, from, to } of parts) {
    told += text.slice(end, from);
    if (!later.has(about)) {
      left.push({ about, from: told.length, to: told.length + to - from });
      told += text.slice(from, to);
    }
    end = to;
  }
  return { told: (told + text.slice(end)).replace(/\n+(?=\n<\/context>$)/, ""), parts: left };
}
