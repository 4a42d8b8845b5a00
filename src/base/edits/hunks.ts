/** Parses unified diffs without context lines. */
import type * as z from "zod";
import type { hunkSchema } from "../../protocol/schemas/changes.ts";

/** A place where lines differ. */
export type Hunk = z.output<ReturnType<typeof hunkSchema>>;

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/**
 * Parses the diff of one file, as `git diff --unified=0` prints it. A diff that was cut off loses
 * its last hunk if that is incomplete.
 */
export function parseHunks(patch: string): Hunk[] {
  const lines = patch.split("\n");
  const hunks: Hunk[] = [];
  for (let at = 0; at < lines.length;) {
    const header = HEADER.exec(lines[at++]);
    if (header === null) continue;
    const [old_line, old_count, new_line, added] = header.slice(1).map((it) => Number(it ?? 1));
    const removed = lines.slice(at, at + old_count).map((line) => line.slice(1));
    at += old_count;
    const unended = old_count > 0 && lines[at]?.startsWith("\\") ? true : undefined;
    if (unended) at++;
    at += added;
    if (at > lines.length) break;
    hunks.push({ old_line, new_line, removed, added, ...unended && { unended } });
  }
  return hunks;
}

/** Whether git says of a file that it is binary. */
export function isBinaryPatch(patch: string): boolean {
  return /^Binary files .* differ$/m.test(patch);
}
