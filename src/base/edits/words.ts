/** Which words differ in a line that replaces another one. */

/** A part of a line. */
export interface Part {
  text: string;
  changed: boolean;
}

/** Longer lines are not compared word by word. */
const CHARS_MAX = 1_000;
/** More words between what the lines begin and end with are marked as a whole. */
const WORDS_MAX = 120;

/**
 * Returns the parts of both lines.
 * @returns undefined if the lines have too little in common for marks to help
 */
export function changedWords(
  before: string,
  after: string,
): { before: Part[]; after: Part[] } | undefined {
  if (before.length > CHARS_MAX || after.length > CHARS_MAX) return undefined;
  const [one, other] = [wordsOf(before), wordsOf(after)];
  let start = 0;
  while (start < Math.min(one.length, other.length) && one[start] === other[start]) start++;
  let end = 0;
  const room = Math.min(one.length, other.length) - start;
  while (end < room && one.at(-1 - end) === other.at(-1 - end)) end++;
  const [from, to] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
  const kept = from.length > WORDS_MAX || to.length > WORDS_MAX ? [] : common(from, to);
  const same = [
    ...one.slice(0, start),
    ...kept.map(([n]) => from[n]),
    ...one.slice(one.length - end),
  ].join("").replaceAll(/\s/g, "").length;
  const all = Math.max(before.replaceAll(/\s/g, "").length, after.replaceAll(/\s/g, "").length);
  if (same * 3 < all) return undefined;
  const head = one.slice(0, start);
  const tail = one.slice(one.length - end);
  return {
    before: partsOf(head, from, new Set(kept.map(([n]) => n)), tail),
    after: partsOf(head, to, new Set(kept.map(([, n]) => n)), tail),
  };
}

function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) ?? [];
}

/** Returns the indices of a longest common part of two lists of words. */
function common(one: readonly string[], other: readonly string[]): [number, number][] {
  const width = other.length + 1;
  const lengths = new Uint16Array((one.length + 1) * width);
  for (let n = one.length - 1; n >= 0; n--) {
    for (let m = other.length - 1; m >= 0; m--) {
      lengths[n * width + m] = one[n] === other[m]
        ? lengths[(n + 1) * width + m + 1] + 1
        : Math.max(lengths[(n + 1) * width + m], lengths[n * width + m + 1]);
    }
  }
  const found: [number, number][] = [];
  for (let n = 0, m = 0; n < one.length && m < other.length;) {
    if (one[n] === other[m]) found.push([n++, m++]);
    else if (lengths[(n + 1) * width + m] >= lengths[n * width + m + 1]) n++;
    else m++;
  }
  return found;
}

function partsOf(
  head: readonly string[],
  middle: readonly string[],
  kept: ReadonlySet<number>,
  tail: readonly string[],
): Part[] {
  const parts: Part[] = [];
  const add = (text: string, changed: boolean) => {
    const last = parts.at(-1);
    if (last?.changed === changed) last.text += text;
    else if (text !== "") parts.push({ text, changed });
  };
  add(head.join(""), false);
  for (const [n, word] of middle.entries()) add(word, !kept.has(n));
  add(tail.join(""), false);
  return parts;
}
