/** Numbers in few characters. */

/** Returns a count with at most three digits: `950`, `1.2k`, `3.4M`. */
export function shortCount(count: number): string {
  for (const [unit, size] of [["M", 1e6], ["k", 1e3]] as const) {
    // Rounded first: 999,950 is 1M.
    if (Math.round(count / size * 1000) < 1000) continue;
    const parts = count / size;
    return `${parts < 99.95 ? Math.round(parts * 10) / 10 : Math.round(parts)}${unit}`;
  }
  return `${count}`;
}
