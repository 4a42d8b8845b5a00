import type { EventData } from "./events.ts";

/** Returns the line for a rewind. */
export function rewoundText(
  { files, conversation, undo_of }: EventData["session.rewound"],
): string {
  const changed = files === undefined ? [] : [filesText(files.changed)];
  const said = conversation === undefined ? [] : ["the conversation"];
  const what = [...changed, ...said].join(" and ");
  return undo_of === undefined ? `undone: ${what}` : `done again: ${what}`;
}

function filesText(changed: number): string {
  if (changed === 0) return "no changes of files";
  return changed === 1 ? "changes of 1 file" : `changes of ${changed} files`;
}
