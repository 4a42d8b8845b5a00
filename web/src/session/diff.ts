/** The difference of two texts, line by line. */
import { diffLines } from "diff";

export interface DiffLine {
  kind: "insert" | "delete" | "same";
  text: string;
}

/** Lines around a change that are shown. */
const CONTEXT = 3;
/** Lines that are drawn until more are asked for. */
export const LINES_MAX = 2_000;

/** The lines that differ, with some around them. */
export function diffOf(before: string, after: string): DiffLine[] {
  const lines = diffLines(before, after).flatMap(({ added, removed, value }): DiffLine[] => {
    const kind = added ? "insert" : removed ? "delete" : "same";
    return value.replace(/\n$/, "").split("\n").map((text) => ({ kind, text }));
  });
  return lines.filter((_, n) =>
    lines.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1)
      .some(({ kind }) => kind !== "same")
  );
}
