/** Durations in words. Must import nothing: the web app uses it. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Formats milliseconds: `250 ms`, `1.5 s`, `2 min 5 s`, `1 h 3 min`. */
export function elapsedText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ${Math.floor(ms / 1000) % 60} s`;
  return `${Math.floor(ms / HOUR_MS)} h ${Math.floor(ms / MINUTE_MS) % 60} min`;
}
