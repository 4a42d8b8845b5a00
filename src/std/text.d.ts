/** The part of `@std/text` that is used here. */
export function closestString(
  givenWord: string,
  possibleWords: readonly string[],
  options?: { caseSensitive?: boolean },
): string;
export function levenshteinDistance(a: string, b: string): number;
