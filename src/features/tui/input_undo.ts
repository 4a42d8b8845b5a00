/** Undo and redo of the message being typed, in steps as a person remembers them. */
import type { Edit, Input } from "./input_state.ts";

/** Steps that are kept. */
const EDITS_MAX = 1_000;
/** Code units of all steps. */
const KEPT_MAX = 4 * 1024 * 1024;
/** Only after an edit of this size all are counted. */
const LARGE = 10_000;

/** Keeps an edit that is about to be made; what was undone cannot be redone then. */
export function recordEdit(input: Input, edit: Edit): void {
  input.undone = [];
  const last = input.edits.at(-1);
  if (last !== undefined && joined(last, edit)) return;
  input.edits.push(edit);
  if (input.edits.length > EDITS_MAX) input.edits.shift();
  if (sizeOf(edit) > LARGE) cutToSize(input.edits);
}

/** Makes an edit a part of the last step, if they belong together. */
function joined(last: Edit, { at, removed, inserted, kind }: Edit): boolean {
  if (last.kind !== kind) return false;
  if (kind === "type" && removed === "" && at === last.at + last.inserted.length) {
    // A step is a word with the blanks after it.
    if (/\s$/.test(last.inserted) && !/^\s/.test(inserted)) return false;
    last.inserted += inserted;
    return true;
  }
  if (kind !== "erase" || inserted !== "") return false;
  if (at + removed.length === last.at) {
    last.at = at;
    last.removed = removed + last.removed;
    return true;
  }
  if (at !== last.at) return false;
  last.removed += removed;
  return true;
}

function sizeOf({ removed, inserted }: Edit): number {
  return removed.length + inserted.length;
}

function cutToSize(edits: Edit[]): void {
  let size = 0;
  const first = edits.findLastIndex((it) => (size += sizeOf(it)) > KEPT_MAX);
  edits.splice(0, first + 1);
}

/** Takes back the last step. @returns whether there was one */
export function undo(input: Input): boolean {
  const edit = input.edits.pop();
  if (edit === undefined) return false;
  const { at, removed, inserted, cursor } = edit;
  input.text = input.text.slice(0, at) + removed + input.text.slice(at + inserted.length);
  input.cursor = cursor;
  input.recalled = undefined;
  input.undone.push(edit);
  return true;
}

/** Makes the step again that was taken back last. @returns whether there was one */
export function redo(input: Input): boolean {
  const edit = input.undone.pop();
  if (edit === undefined) return false;
  const { at, removed, inserted } = edit;
  input.text = input.text.slice(0, at) + inserted + input.text.slice(at + removed.length);
  input.cursor = at + inserted.length;
  input.recalled = undefined;
  input.edits.push(edit);
  return true;
}

/** Forgets all steps: the message was sent. */
export function forgetEdits(input: Input): void {
  input.edits = [];
  input.undone = [];
}
