/** The changes of a call as lines of text: what goes, then what comes. */
import type { FileChange } from "./changes.ts";

/** A line with `-` for each line before, then one with `+` for each line after. */
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
