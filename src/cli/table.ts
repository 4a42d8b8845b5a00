import { visibleLine } from "../base/visible.ts";

/** Lays rows out in padded columns, with all characters visible. */
export function table(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(visibleLine));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [n, cell] of row.entries()) widths[n] = Math.max(widths[n] ?? 0, cell.length);
  }
  return rows.map((row) => row.map((cell, n) => cell.padEnd(widths[n])).join("  ").trimEnd())
    .join("\n");
}
