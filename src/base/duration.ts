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

const SIZES: Record<string, number> = { ms: 1, ...Object.fromEntries(UNITS) };

/**
 * Reads a duration as {@linkcode formatDuration} writes it.
 *
 * @returns milliseconds; undefined when the text is no duration, for one without a unit too.
 */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/([\d.]+)(ms|h|m|s)/g)) {
    ms += Number(count) * SIZES[unit];
  }
  return ms;
}
