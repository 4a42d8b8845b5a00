/** Calls that only read, in a row: one line for all of them. */
import { reads, readsText } from "./call_words.ts";
import type { Entry } from "./model.ts";
import { cutLine, type Line } from "./text.ts";

/** Names of what was read that are worth a look. */
const NAMES_MAX = 20;

/**
 * The end of the calls that only read and begin here, as an index; 0 inside of them, undefined where
 * there is one call, or another kind of entry. A call that failed stands alone.
 */
export function readsFrom(entries: readonly Entry[], at: number): number | undefined {
  if (!folds(entries[at])) return undefined;
  if (at > 0 && folds(entries[at - 1])) return 0;
  let end = at + 1;
  while (end < entries.length && folds(entries[end])) end++;
  return end - at > 1 ? end : undefined;
}

function folds({ kind, tool, ok }: Entry): boolean {
  return kind === "call" && ok !== false && tool !== undefined && reads(tool);
}

/** `● read 3 files  a.ts, b.ts, c.ts`. */
export function readsLine(calls: readonly Entry[], cols: number): Line {
  const running = calls.some(({ ok }) => ok === undefined);
  const what = readsText(calls.map(({ tool = "" }) => tool));
  const names = calls.slice(0, NAMES_MAX)
    .map(({ lines: [title], tool = "" }) => title.slice(tool.length).trim());
  return cutLine([
    { text: "● ", style: running ? "warning" : "success" },
    { text: `${running ? "reads" : "read"} ${what}`, style: "plain" },
    { text: `  ${[...new Set(names)].filter(Boolean).join(", ")}`, style: "dim" },
  ], cols);
}
