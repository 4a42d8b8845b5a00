/** A call's changes as lines: removed lines, then added ones. */
import { type FileChange, staysSame } from "./changes.ts";

export function changeLines(changes: readonly FileChange[]): string[] {
  return changes.flatMap((change, _, { length }) => {
    const { path, before, after, deleted } = change;
    if (staysSame(change)) return [`${path}: no change`];
    return [
      ...deleted ? [`${path}: deleted`] : length > 1 ? [path] : [],
      ...marked("-", before ?? ""),
      ...marked("+", after),
    ];
  });
}

function marked(mark: string, text: string): string[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n").map((line) => `${mark} ${line}`);
}
