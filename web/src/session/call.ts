/** What a tool call is about, and what it changes. */
import { changesOf, type FileChange as NamedPart } from "../../../src/base/edits/changes.ts";
import { languageOfPath } from "../../../src/base/highlight/languages.ts";

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

/** The change of one file, by its name. */
export interface NamedChange extends FileChange {
  path: string;
  deleted: boolean;
}

/** The changes that a call asks for, one for each file; none when it changes no file. */
export function fileChanges(tool: string, args: unknown): NamedChange[] {
  const by_path = Map.groupBy(changesOf(tool, args), ({ path }) => path);
  return [...by_path].map(([path, parts]) => ({
    path,
    before: parts.map(({ before }) => before ?? "").join("\n"),
    after: parts.map(({ after }) => after).join("\n"),
    deleted: parts.some(({ deleted }: NamedPart) => deleted === true),
  }));
}

/** The language of what a call gives, where that is a file as it is. */
export function fileLanguage(tool: string, args: unknown): string | undefined {
  const { path } = (args ?? {}) as Record<string, unknown>;
  return tool === "read_file" && typeof path === "string" ? languageOfPath(path) : undefined;
}

/** Whether a tool changes files that its arguments name. */
export function changesFiles(tool: string): boolean {
  return ["apply_patch", "edit_file", "write_file"].includes(tool);
}

/** Whether a call says more than its line: it changes something, or takes long. */
export function showsByItself(tool: string): boolean {
  return changesFiles(tool) || tool === "run_command";
}
