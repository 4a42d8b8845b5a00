/** A call's changes as lines: removed lines, then added ones. */
import type { FileChange } from "./changes.ts";

export function changeLines(changes: readonly FileChange[]): string[] {
  return changes.flatMap(({ path, before, after, deleted }, _, { length }) => [
    ...deleted ? [`${path}: deleted`] : length > 1 ? [path] : [],
    ...marked("-", before ?? ""),
    ...marked("+", after),
  ]);
}

function marked(mark: string, text: string): string[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n").map((line) => `${mark} ${line}`);
}
