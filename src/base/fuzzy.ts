/** Ranks names by what a person typed of them. Must import nothing: the web app uses it. */

/** Where a word of a path or a name begins. */
const BEFORE_WORD = /[/\\._\- ]/;

/**
 * Rates how well a text fits what was typed, larger is better; undefined if it does not contain the
 * characters in order. Letters of both cases are the same.
 *
 * @example
 * ```ts
 * import { fuzzyScore } from "./fuzzy.ts";
 *
 * if (fuzzyScore("src/web/main.ts", "wmain") === undefined) throw new Error("it fits");
 * ```
 */
export function fuzzyScore(text: string, typed: string): number | undefined {
  if (typed === "") return -text.length;
  const lower = text.toLowerCase();
  const wanted = typed.toLowerCase();
  const name_at = lower.lastIndexOf("/", lower.length - 2) + 1;
  const whole = bestPlace(lower, wanted, name_at);
  if (whole !== undefined) return whole - text.length;
  // A later word's start is no use where the rest is missing after it.
  const penalty = apart(lower, wanted, nextOf) ??
    apart(lower, wanted, (text, char, from) => text.indexOf(char, from));
  return penalty === undefined ? undefined : 4_000 - penalty - text.length;
}

type Next = (lower: string, char: string, from: number) => number;

/** How far apart the characters are; undefined if one is missing. */
function apart(lower: string, wanted: string, next: Next): number | undefined {
  let penalty = 0;
  let at = -1;
  for (const char of wanted) {
    const place = next(lower, char, at + 1);
    if (place < 0) return undefined;
    if (place !== at + 1 || at < 0) penalty += isWordStart(lower, place) ? 40 : 440;
    at = place;
  }
  return penalty;
}

/** Rates a text that contains what was typed in one piece. */
function bestPlace(lower: string, wanted: string, name_at: number): number | undefined {
  const name = lower.slice(name_at);
  if (name === wanted || lower === wanted) return 10_000;
  if (name.startsWith(wanted)) return 9_000;
  for (let at = name.indexOf(wanted); at >= 0; at = name.indexOf(wanted, at + 1)) {
    if (isWordStart(name, at)) return 8_000;
  }
  if (name.includes(wanted)) return 7_000;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + 1)) {
    if (isWordStart(lower, at)) return 6_000;
  }
  return lower.includes(wanted) ? 5_000 : undefined;
}

/** The next place of a character: where it goes on, else at the start of a word, else anywhere. */
function nextOf(lower: string, char: string, from: number): number {
  const first = lower.indexOf(char, from);
  if (first === from) return first;
  for (let at = first; at >= 0; at = lower.indexOf(char, at + 1)) {
    if (isWordStart(lower, at)) return at;
  }
  return first;
}

function isWordStart(text: string, at: number): boolean {
  return at === 0 || BEFORE_WORD.test(text[at - 1]);
}
