const UNITS: readonly [string, number][] = [["h", 3_600_000], ["m", 60_000], ["s", 1_000]];

/** Formats milliseconds like a person: `10m`, `1h30m`, `1.5s`, `250ms`. */
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

/** Parses {@linkcode formatDuration}'s form to milliseconds; undefined if invalid. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/([\d.]+)(ms|h|m|s)/g)) {
    ms += Number(count) * SIZES[unit];
  }
  return ms;
}
