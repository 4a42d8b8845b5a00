/** The tests that a run ignored, by what was missing for them. */
import { fromFileUrl } from "@std/path";
import { shownPath } from "./files.ts";

/**
 * Returns what is missing, and for how many tests.
 *
 * @param ignored the files of the ignored tests, a file for each test.
 * @param lacking what test files noted that they lack.
 */
export function byReason(ignored: readonly string[], lacking: string): string[] {
  const reasons = new Map<string, Set<string>>();
  for (const line of lacking.split("\n").filter(Boolean)) {
    const [url, what] = line.split("\t");
    const file = shownPath(fromFileUrl(url));
    reasons.set(file, (reasons.get(file) ?? new Set()).add(what));
  }
  const counts = new Map<string, number>();
  for (const file of ignored) {
    const missing = [...reasons.get(file) ?? []].sort().join(" or ");
    const reason = missing || "for another system, user or build";
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].sort().map(([reason, count]) => `${reason}: ${count}`);
}
