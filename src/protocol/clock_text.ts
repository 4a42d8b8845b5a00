/** Times of day for people. Must import nothing: the web app uses it. */

/** `15:04`, or `2026-11-28 15:04` on another day, by this machine's clock. Avoids Intl. */
export function clockText(at: Date, now = new Date()): string {
  const time = at.toTimeString().slice(0, 5);
  if (at.toDateString() === now.toDateString()) return time;
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return `${local.toISOString().slice(0, 10)} ${time}`;
}
