/** What a call does, in words, for the line that says what happens. */
import { callLine } from "../../base/call_line.ts";
import { filesOf } from "../../base/edits/changes.ts";
import { cleanLine } from "./text.ts";

/** Calls that only read, which fold to one line. */
const READING: Readonly<Record<string, readonly [one: string, many: string]>> = {
  read_file: ["file", "files"],
  list_dir: ["directory", "directories"],
  glob: ["search by name", "searches by name"],
  grep: ["search", "searches"],
};

/** Reports whether a call only reads. */
export function reads(tool: string): boolean {
  return Object.hasOwn(READING, tool);
}

/** Returns what a call does: `runs cargo test`. */
export function doingOf(tool: string, args: unknown): string {
  const { command, path, pattern, url, query } = (args ?? {}) as Record<string, unknown>;
  const about = (value: unknown) =>
    cleanLine(String(value ?? "").split("\n")[0].slice(0, ABOUT_MAX));
  const files = filesOf(tool, args);
  if (files.length > 1) return `edits ${files.length} files`;
  switch (tool) {
    case "run_command":
      return `runs ${about(command)}`;
    case "read_file":
      return `reads ${about(path)}`;
    case "list_dir":
      return `lists ${about(path ?? ".")}`;
    case "glob":
      return `looks for ${about(pattern)}`;
    case "grep":
      return `searches for ${about(pattern)}`;
    case "edit_file":
    case "apply_patch":
      return `edits ${about(path ?? files[0])}`;
    case "write_file":
      return `writes ${about(path)}`;
    case "fetch_url":
      return `fetches ${about(url)}`;
    case "web_search":
      return `searches the web for ${about(query)}`;
    case "ask_user":
      return "asks you";
  }
  return `calls ${about(callLine(tool, args))}`;
}

/** Characters of what a call is about. */
const ABOUT_MAX = 100;

/** Returns what several reading calls read: `3 files, 1 search`. */
export function readsText(tools: readonly string[]): string {
  return Object.entries(READING).flatMap(([tool, [one, many]]) => {
    const count = tools.filter((it) => it === tool).length;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  }).join(", ");
}
