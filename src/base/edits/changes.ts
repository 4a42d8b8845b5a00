/** Changes by the file tools, for people. Must import only types: the web app uses it. */
import type * as z from "zod";
import type { fileChangeSchema } from "../../protocol/schemas/session.ts";

/** A part of a file, or all of it, before and after a call. */
export type FileChange = z.output<ReturnType<typeof fileChangeSchema>>;

/** Marks cut changes of a call. */
export const REST_NOT_SHOWN = "[the rest of the changes is not shown]\n";

/** Whether all changes of a call are there. */
export function hasAllChanges(changes: readonly FileChange[]): boolean {
  return !changes.at(-1)?.after.endsWith(REST_NOT_SHOWN);
}

/** Whether a file stays as it was. */
export function staysSame({ before, after }: FileChange): boolean {
  return before === "" && after === "";
}

/** The changes in a call's arguments. */
export function changesOf(tool: string, args: unknown): FileChange[] {
  const { path, old_text, new_text, edits, content, patch } = (args ?? {}) as Record<
    string,
    unknown
  >;
  if (tool === "apply_patch") return typeof patch === "string" ? patchChanges(patch) : [];
  if (typeof path !== "string") return [];
  if (tool === "write_file") {
    return typeof content === "string" ? [{ path, before: undefined, after: content }] : [];
  }
  if (tool !== "edit_file") return [];
  const all: unknown[] = Array.isArray(edits) ? edits : [{ old_text, new_text }];
  return all.flatMap((edit) => {
    const { old_text, new_text } = (edit ?? {}) as Record<string, unknown>;
    if (typeof old_text !== "string" || typeof new_text !== "string") return [];
    // An empty text creates the file.
    return [{ path, before: old_text === "" ? undefined : old_text, after: new_text }];
  });
}

const NAMED = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm;

/** The files that a call changes, each once, as the call names them. */
export function filesOf(tool: string, args: unknown): string[] {
  const { patch } = (args ?? {}) as Record<string, unknown>;
  const paths = tool === "apply_patch" && typeof patch === "string"
    ? [...patch.matchAll(NAMED)].map(([, path]) => path)
    : changesOf(tool, args).map(({ path }) => path);
  return [...new Set(paths)];
}

const FILE = /^\*\*\* (Add|Update|Delete) File: (.+)(?:\n\*\*\* Move to: (.+))?$/gm;

/** A patch's changes for display; not a strict parser. */
function patchChanges(patch: string): FileChange[] {
  const files = [...patch.matchAll(FILE)];
  return files.map(({ 0: header, 1: verb, 2: from, 3: to, index }, n) => {
    if (verb === "Delete") return { path: from, before: undefined, after: "", deleted: true };
    const lines = patch.slice(index + header.length, files[n + 1]?.index).split("\n");
    const text = (...signs: string[]) =>
      lines.filter((line) => signs.includes(line[0])).map((line) => line.slice(1)).join("\n");
    const before = verb === "Add" ? undefined : text(" ", "-");
    return { path: to ?? from, before, after: text(" ", "+") };
  });
}
