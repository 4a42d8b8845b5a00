const UNITS: readonly [string, number][] = [["h", 3_600_000], ["m", 60_000], ["s", 1_000]];

/**
 * Writes a duration as a person would give it: `10m`, `1h30m`, `1.5s`, `250ms`.
 *
 * @param ms milliseconds, not negative.
 */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms}ms`;
  let rest = ms;
  let text = "";
  for (const [unit, size] of UNITS) {
    const count = unit === "s" ? rest / size : Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest %= size;
  }
  return text;
}
