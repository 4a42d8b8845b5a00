/** Looking for what the person said before, in terminals and in the web app. */

/** Messages that are asked for at once. */
export const FOUND_MAX = 50;
/** The search of the daemon takes so many prefixes. */
const PREFIXES_MAX = 4;

/** Returns the query of session.search for what was typed: words that may go on. */
export function searchQuery(typed: string): string {
  const words = typed.normalize().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
  return words.slice(0, 2 * PREFIXES_MAX).map((word, n) =>
    n < PREFIXES_MAX && [...word].length > 1 ? `${word}*` : word
  ).join(" ");
}
