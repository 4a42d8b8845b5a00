/** How values look to a person. */

export { ago } from "../../src/base/ago.ts";
export { costText, usd } from "../../src/base/amount.ts";
export { elapsedText as duration } from "../../src/base/elapsed.ts";

/** Date and time in full. */
export function fullTime(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** A number of tokens, short. */
export function count(value: number): string {
  if (value < 1000) return String(value);
  return value < 1e6 ? `${(value / 1000).toFixed(1)}k` : `${(value / 1e6).toFixed(1)}M`;
}

/** A size in bytes, short. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  return size < 1e6 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}
