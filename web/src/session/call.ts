/** What a tool call is about, and what it changes. */
import { diffLines } from "diff";

/** One line for a call: to what it is done. */
export function callSubject(args: unknown): string {
  const { command, path, pattern, url } = (args ?? {}) as Record<string, unknown>;
  return String(command ?? pattern ?? url ?? path ?? "");
}

export interface DiffLine {
  kind: "insert" | "delete" | "same";
  text: string;
}

/** Lines around a change that are shown. */
const CONTEXT = 3;
const LINES_MAX = 2_000;

/**
 * The change of a file that a call asks for.
 *
 * @returns undefined when the call changes no file.
 */
export function fileChange(tool: string, args: unknown): DiffLine[] | undefined {
  const { old_text, new_text, content } = (args ?? {}) as Record<string, unknown>;
  if (tool === "write_file" && typeof content === "string") return diffOf("", content);
  if (tool !== "edit_file" || typeof old_text !== "string" || typeof new_text !== "string") {
    return undefined;
  }
  return diffOf(old_text, new_text);
}

function diffOf(before: string, after: string): DiffLine[] {
  const lines = diffLines(before, after).flatMap(({ added, removed, value }): DiffLine[] => {
    const kind = added ? "insert" : removed ? "delete" : "same";
    return value.replace(/\n$/, "").split("\n").map((text) => ({ kind, text }));
  });
  return lines
    .filter((_, n) =>
      lines.slice(Math.max(0, n - CONTEXT), n + CONTEXT + 1)
        .some(({ kind }) => kind !== "same")
    )
    .slice(0, LINES_MAX);
}

/** Whether a call says more than its line: it changes something, or takes long. */
export function showsByItself(tool: string): boolean {
  return ["edit_file", "write_file", "run_command"].includes(tool);
}
