/** Where the lines of a plot's grid are, and what is said beside them. */

const DAY_S = 86_400;
/** Where the clock is set forward on it. */
const SHORTEST_DAY_S = DAY_S - 3_600;
const STEPS = [1, 2, 5, 10];
/** Lines of the grid above nothing, roughly. */
const ROWS = 4;

/**
 * Round amounts from nothing to above `max`, evenly apart.
 *
 * @returns ascending; the first is 0.
 */
export function amountTicks(max: number): number[] {
  const least = (max > 0 ? max : 1) / ROWS;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = STEPS.map((it) => it * power).find((it) => it >= least)!;
  const count = Math.ceil((max > 0 ? max : 1) / step);
  return Array.from({ length: count + 1 }, (_, n) => n * step);
}

/** A time that is named below a plot. */
export interface TimeTick {
  /** Its place among the times. */
  index: number;
  word: string;
}

/**
 * Times to name: the beginnings of days where there are several, else hours and minutes.
 *
 * @param times in seconds, ascending.
 * @param most how many there is room for.
 */
export function timeTicks(times: readonly number[], most: number): TimeTick[] {
  const is_day = times[1] - times[0] >= SHORTEST_DAY_S;
  const by_day = is_day || times.at(-1)! - times[0] > 2 * DAY_S;
  const wordOf = new Intl.DateTimeFormat(
    undefined,
    by_day ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" },
  );
  const dayOf = (time: number) => new Date(time * 1000).toDateString();
  const candidates = [...times.keys()].filter((n) =>
    !by_day || is_day || (n > 0 && dayOf(times[n]) !== dayOf(times[n - 1]))
  );
  const every = Math.max(1, Math.ceil(candidates.length / Math.max(1, most)));
  return candidates
    .filter((_, n) => n % every === 0)
    .map((index) => ({ index, word: wordOf.format(times[index] * 1000) }));
}
