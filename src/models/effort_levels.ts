/** The levels of effort of a model. */
import { type Effort, EFFORTS } from "../protocol/effort.ts";

/**
 * Returns the level of a model that is nearest to the one asked for, of two the shorter; undefined
 * when the model does not reason.
 *
 * @param levels the model's own; undefined when they are not known, and then the one asked for holds
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
