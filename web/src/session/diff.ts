/** The difference of two texts, line by line. */
import { diffLines } from "diff";

export interface DiffLine {
  /** A `gap` says how many lines are left out, because nothing changes in them. */
  kind: "insert" | "delete" | "same" | "gap";
  text: string;
  /** Its number in the file: of a removed line before the call, else after it. */
  number?: number;
}

/** Lines around a change that are shown. */
const CONTEXT = 3;
/** Lines that are drawn until more are asked for. */
export const LINES_MAX = 2_000;

/** How long a difference is looked for, in milliseconds: texts that share little take very long. */
const SEARCH_MS = 500;

/** The lines that differ, with some around them. @param from the numbers of the first ones, if known */
export function diffOf(
  before: string,
  after: string,
  from?: readonly [was: number, is: number],
): DiffLine[] {
  const parts = diffLines(before, after, { timeout: SEARCH_MS }) ??
    [{ removed: true, added: false, value: before }, { removed: false, added: true, value: after }];
  let [was, is] = from ?? [];
  const lines = parts.flatMap(({ added, removed, value }): DiffLine[] => {
    if (value === "") return [];
    const kind = added ? "insert" : removed ? "delete" : "same";
    return value.replace(/\n$/, "").split("\n").map((text) => {
      const number = removed ? was : is;
      if (was !== undefined && !added) was++;
      if (is !== undefined && !removed) is++;
      return { kind, text, ...number !== undefined && { number } };
    });
  });
  return withoutSame(lines);
}

function withoutSame(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [n, { kind }] of lines.entries()) {
    if (kind === "same") continue;
    for (let at = n - CONTEXT; at <= n + CONTEXT; at++) near.add(at);
  }
  if (near.size === 0) return [];
  const shown: DiffLine[] = [];
  let left_out = 0;
  const close = () => {
    if (left_out > 0) {
      shown.push({ kind: "gap", text: `${left_out} unchanged line${left_out > 1 ? "s" : ""}` });
    }
    left_out = 0;
  };
  for (const [n, line] of lines.entries()) {
    if (!near.has(n)) {
      left_out++;
      continue;
    }
    close();
    shown.push(line);
  }
  close();
  return shown;
}
