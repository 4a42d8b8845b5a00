/** What a tool call is about, and what it changes. */
import { changesOf } from "../../../src/base/edits/changes.ts";
import { languageOfPath } from "../highlight/languages.ts";

/** One line for a call: to what it is done. */
export function callSubject(args: unknown): string {
  const { command, path, pattern, url, paths, description } = (args ?? {}) as Record<
    string,
    unknown
  >;
  const files = Array.isArray(paths) ? paths.join(", ") : undefined;
  return String(command ?? pattern ?? url ?? path ?? files ?? description ?? "");
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
  const changes = changesOf(tool, args);
  if (changes.length === 0) return undefined;
  return {
    before: changes.map(({ before }) => before ?? "").join("\n"),
    after: changes.map(({ after }) => after).join("\n"),
  };
}

/** The language of what a call gives, where that is a file as it is. */
export function fileLanguage(tool: string, args: unknown): string | undefined {
  const { path } = (args ?? {}) as Record<string, unknown>;
  return tool === "read_file" && typeof path === "string" ? languageOfPath(path) : undefined;
}

/** Whether a call says more than its line: it changes something, or takes long. */
export function showsByItself(tool: string): boolean {
  return ["apply_patch", "edit_file", "write_file", "run_command"].includes(tool);
}
