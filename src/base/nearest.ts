import { closestString, levenshteinDistance } from "@std/text";

/** The nearest candidate, if it is near enough. */
export function nearestOf(word: string, candidates: readonly string[]): string | undefined {
  if (candidates.length === 0) return undefined;
  const nearest = closestString(word, candidates);
  return levenshteinDistance(word, nearest) <= Math.max(2, word.length / 3) ? nearest : undefined;
}
