/** What a tool call is about, and what it changes. */
import { languageOfPath } from "../highlight/languages.ts";

/** One line for a call: to what it is done. */
export function callSubject(args: unknown): string {
  const { command, path, pattern, url } = (args ?? {}) as Record<string, unknown>;
  return String(command ?? pattern ?? url ?? path ?? "");
}

/** A file's text, or the part of it that a call changes. */
export interface FileChange {
  before: string;
  after: string;
}

/**
 * The change of a file that a call asks for.
 *
 * @returns undefined when the call changes no file.
 */
export function fileChange(tool: string, args: unknown): FileChange | undefined {
  const { old_text, new_text, content } = (args ?? {}) as Record<string, unknown>;
  if (tool === "write_file" && typeof content === "string") return { before: "", after: content };
  if (tool !== "edit_file" || typeof old_text !== "string" || typeof new_text !== "string") {
    return undefined;
  }
  return { before: old_text, after: new_text };
}

/** The language of what a call gives, where that is a file as it is. */
export function fileLanguage(tool: string, args: unknown): string | undefined {
  const { path } = (args ?? {}) as Record<string, unknown>;
  return tool === "read_file" && typeof path === "string" ? languageOfPath(path) : undefined;
}

/** Whether a call says more than its line: it changes something, or takes long. */
export function showsByItself(tool: string): boolean {
  return ["edit_file", "write_file", "run_command"].includes(tool);
}
