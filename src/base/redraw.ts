/** Output in pieces that may redraw earlier lines. */

/**
 * Receives output.
 *
 * @param redraws how many lines at the end of the earlier output, including an unfinished one,
 * the text replaces; by default it is appended
 * @param runs its characters that are not plain (`looks.ts`)
 */
export type OnOutput = (text: string, redraws?: number, runs?: readonly number[]) => void;

/** Appends a piece to an output; too large a number of lines replaces all. */
export function redrawn(before: string, text: string, redraws = 0): string {
  if (redraws === 0) return before + text;
  let start = before.length + 1;
  for (let n = 0; n < redraws && start > 0; n++) {
    start = start < 2 ? 0 : before.lastIndexOf("\n", start - 2) + 1;
  }
  return before.slice(0, start) + text;
}
