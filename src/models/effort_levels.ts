import { type Effort, EFFORTS } from "../protocol/effort.ts";

/**
 * Returns the model's level nearest to the requested one, in doubt the lower; undefined if it does
 * not reason.
 *
 * @param levels the model's own; if unknown, the requested level is returned
 */
export function nearestEffort(
  asked: Effort | undefined,
  levels: readonly Effort[] | undefined,
): Effort | undefined {
  if (asked === undefined || levels === undefined) return asked;
  const distance = (level: Effort) => Math.abs(EFFORTS.indexOf(level) - EFFORTS.indexOf(asked));
  return EFFORTS.filter((level) => levels.includes(level))
    .toSorted((a, b) => distance(a) - distance(b))[0];
}
