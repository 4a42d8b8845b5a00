/** What the file tools change, for people. It imports nothing heavy: the web app uses it too. */
import { EditProblem } from "./edit_text.ts";
import { parsePatch, type PatchStep } from "./patch.ts";

/** A part of a file, before and after a call; or the whole of it. */
export interface FileChange {
  /** As the call names it. */
  path: string;
  /** `undefined` where the whole file is written and what it was is not known. */
  before: string | undefined;
  after: string;
}

/** The changes that a call asks for; none of a call that changes no file, or not by its arguments. */
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
    return [{ path, before: old_text, after: new_text }];
  });
}

function patchChanges(patch: string): FileChange[] {
  let steps: PatchStep[];
  try {
    steps = parsePatch(patch);
  } catch (error) {
    if (error instanceof EditProblem) return [];
    throw error;
  }
  return steps.flatMap((step): FileChange[] => {
    if (step.kind === "delete") return [];
    if (step.kind === "add") return [{ path: step.path, before: "", after: step.text }];
    const path = step.move_to ?? step.path;
    return step.hunks.map(({ old_text, new_text }) => ({
      path,
      before: old_text,
      after: new_text,
    }));
  });
}
