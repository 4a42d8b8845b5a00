/** What a tool call is about, and what it changes. */
import { type FileChange as Part, staysSame } from "../../../src/base/edits/changes.ts";
import { languageOfPath } from "../../../src/base/highlight/languages.ts";
import { type Call, changesOfCall } from "../../../src/session/call_changes.ts";

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
export interface NamedChange {
  path: string;
  parts: readonly Part[];
  /** What becomes of the file, unless it is only changed. */
  note?: string;
  /** Whether lines are numbered as they were when their part was changed, not as before the call. */
  in_turn: boolean;
}

/** The changes of a call, one for each file; none when it changes no file. */
export function fileChanges(call: Call): NamedChange[] {
  const { changes, recorded } = changesOfCall(call);
  return [...Map.groupBy(changes, ({ path }) => path)].map(([path, parts]) => ({
    path,
    parts,
    note: noteOf(parts),
    in_turn: !recorded,
  }));
}

function noteOf(parts: readonly Part[]): string | undefined {
  if (parts.some(({ deleted }) => deleted)) return "deleted";
  if (parts.some(({ replaced }) => replaced)) return "replaces a file that cannot be shown";
  return parts.every(staysSame) ? "no change" : undefined;
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
