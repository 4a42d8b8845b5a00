/** Output that is told piece by piece, while parts of it are drawn again. */

/**
 * Receives output while it is written.
 *
 * @param redraws how many lines at the end of what came before the text takes the place of, the line
 * that has not ended among them; without it the text follows them
 */
export type OnOutput = (text: string, redraws?: number) => void;

/** Returns an output with its next piece; more lines than there are is all of them. */
export function redrawn(before: string, text: string, redraws = 0): string {
  if (redraws === 0) return before + text;
  let start = before.length + 1;
  for (let n = 0; n < redraws && start > 0; n++) {
    start = start < 2 ? 0 : before.lastIndexOf("\n", start - 2) + 1;
  }
  return before.slice(0, start) + text;
}
