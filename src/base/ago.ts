const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LONG_AGO_MS = 100 * DAY_MS;

/**
 * `2 min ago` and so on; a date after a long time. Avoids Intl, whose first use takes 20 ms.
 *
 * @param at ISO 8601
 * @param now milliseconds since 1970
 */
export function ago(at: string, now: number): string {
  const passed = now - Date.parse(at);
  if (!(passed >= 0)) return "just now";
  if (passed < 10_000) return "just now";
  if (passed < MINUTE_MS) return `${Math.floor(passed / 1000)} s ago`;
  if (passed < HOUR_MS) return `${Math.floor(passed / MINUTE_MS)} min ago`;
  if (passed < DAY_MS) return `${Math.floor(passed / HOUR_MS)} h ago`;
  if (passed < LONG_AGO_MS) return `${Math.floor(passed / DAY_MS)} d ago`;
  return at.slice(0, 10);
}
