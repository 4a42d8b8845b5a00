/** What svc told the model: what was told again since is not needed any more. */
import type { ToldPart } from "../protocol/events.ts";

/** A message of svc, and what it is about. */
export interface Told {
  told: string;
  /** The files whose rules it has, or that no longer hold. */
  files?: string[];
  /** Where each file's rules, or each fact, stand in it; absent once it was cut. */
  parts?: readonly ToldPart[];
}

/** What is left of a message; undefined when nothing is. */
type Left = Pick<Told, "told" | "parts"> | undefined;

/** Returns the messages of which something was told again by later ones, and what is left of each. */
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

/** The text of a block without what was told again later. */
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
