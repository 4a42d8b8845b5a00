/** Chat commands that show or undo changes of files, or fork the session. */
import type * as z from "zod";
import type { changesSchema } from "../../protocol/schemas/changes.ts";
import type { rewindResultSchema } from "../../protocol/schemas/rewind.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { CallVerb } from "../verb_types.ts";

/** A command such as `/undo`, with the words after it. */
export interface UndoCommand {
  name: "undo" | "redo" | "changes" | "fork";
  rest: string;
}

const WHAT = ["files", "conversation", "both"] as const;
const PATCH_LINES = 200;
const FILES_SHOWN = 20;

/** Parses a line; undefined for other lines. */
export function undoCommand(line: string): UndoCommand | undefined {
  const found = /^\/(undo|redo|changes|fork)(?:\s+(\S[^]*))?$/.exec(line.trim());
  if (found === null) return undefined;
  return { name: found[1] as UndoCommand["name"], rest: (found[2] ?? "").trim() };
}

/**
 * Runs the command and returns a text for the person; undefined when the event tells it.
 *
 * @throws {SvcError} validation for unknown words; as the verbs
 */
export async function runUndo(
  { name, rest }: UndoCommand,
  session_id: string,
  call: CallVerb,
): Promise<string | undefined> {
  if (name === "fork") {
    const title = rest === "" ? undefined : rest;
    const forked = await call("session.fork", { session_id, title });
    return `${forked.title}: \`svc chat --session ${forked.session_id}\` opens it`;
  }
  if (name === "changes") {
    if (rest !== "") throw unknownWords(name, rest, "/changes takes no words");
    return changesText(await call("session.changes", { session_id }), PATCH_LINES);
  }
  if (name === "redo") {
    const { what, force } = undoWords(rest);
    if (what !== undefined) throw unknownWords(name, rest, "/redo takes keep, or force and a file");
    await call("session.rewind", { session_id, undo: true, force });
    return undefined;
  }
  const file = fileIn(rest);
  if (file !== undefined) await call("session.undo_file", { session_id, ...file });
  else await call("session.rewind", { session_id, ...undoWords(rest) });
  return undefined;
}

/** Reads `FILE [force]`; undefined if there are words of `/undo` instead. */
function fileIn(rest: string): { path: string; force: boolean } | undefined {
  const [, path, force] = /^([^]+?)(\s+force)?$/.exec(rest) ?? [];
  if (path === undefined || isWord(path.split(/\s/)[0])) return undefined;
  return { path, force: force !== undefined };
}

function isWord(word: string): boolean {
  return word === "keep" || word === "force" || WHAT.some((it) => it === word);
}

interface UndoWords {
  what?: typeof WHAT[number];
  force: boolean | string[];
}

/** Reads the words after `/undo`. The name of a file goes to the end of the line. */
function undoWords(rest: string): UndoWords {
  const found: UndoWords = { force: false };
  for (let left = rest; left !== "";) {
    const [, word, more] = /^(\S+)\s*([^]*)$/.exec(left)!;
    const what = WHAT.find((it) => it === word);
    if (what !== undefined && found.what === undefined) found.what = what;
    else if (word === "keep" && found.force === false) found.force = [];
    else if (word === "force" && found.force === false) found.force = true;
    else if (found.force === true) {
      found.force = [left];
      break;
    } else {
      const hint = "/undo takes files, conversation or both, and keep, force or force FILE";
      throw unknownWords("undo", rest, hint);
    }
    left = more;
  }
  return found;
}

function unknownWords(name: string, rest: string, hint: string): SvcError {
  return new SvcError("validation", `/${name}: cannot read ${JSON.stringify(rest)}`, { hint });
}

type Changes = z.output<ReturnType<typeof changesSchema>>;

type Rewound = z.output<ReturnType<typeof rewindResultSchema>>;

/** What a rewind did, as text. */
export function rewindText(
  { files, files_changed, files_deleted, kept, kept_count }: Rewound,
): string {
  const back = files_changed - files_deleted;
  const parts = [
    ...(back > 0 ? [`${counted(back, "file")} back`] : []),
    ...(files_deleted > 0 ? [`${files_deleted} deleted`] : []),
    ...(kept_count > 0 ? [`${kept_count} kept because somebody changed them since`] : []),
  ];
  const more = files_changed > files.length ? [`  and ${files_changed - files.length} more`] : [];
  return [
    parts.length === 0 ? "no file changes" : parts.join(", "),
    ...files.map((path) => `  ${path}`),
    ...more,
    ...kept.map(({ path, reason }) =>
      `  kept ${path}${reason === "changed" ? "" : ", which undo could not bring back"}`
    ),
  ].join("\n");
}

/** The changes as text. @param patch_lines of the patch, at most */
export function changesText(changes: Changes, patch_lines: number): string {
  const { files, files_changed, added, deleted, patch, truncated, others, excluded, problem } =
    changes;
  const lines: string[] = [];
  if (problem !== undefined) lines.push(`changes cannot be undone: ${problem}`);
  if (files_changed === 0) lines.push("no changes of files");
  else {
    lines.push(`${counted(files_changed, "file")} changed, +${added} -${deleted}`);
    for (const file of files.slice(0, FILES_SHOWN)) lines.push(`  ${fileText(file)}`);
    if (files_changed > FILES_SHOWN) lines.push(`  and ${files_changed - FILES_SHOWN} more`);
  }
  if (others.length > 0) lines.push(`changed by others since: ${few(others)}`);
  const left_out = excluded.filter(({ reason }) => reason !== "ignored").map(({ path }) => path);
  if (left_out.length > 0) lines.push(`not kept: ${few(left_out)}`);
  if (patch !== "" && patch_lines > 0) {
    const shown = patch.trimEnd().split("\n");
    lines.push("", ...shown.slice(0, patch_lines));
    if (truncated || shown.length > patch_lines) lines.push("… the rest is left out");
  }
  return lines.join("\n");
}

function fileText({ path, change, added, deleted }: Changes["files"][number]): string {
  const counts = added === undefined ? "" : ` +${added} -${deleted}`;
  return `${change} ${path}${counts}`;
}

function counted(n: number, noun: string): string {
  return n === 1 ? `1 ${noun}` : `${n} ${noun}s`;
}

function few(paths: readonly string[]): string {
  const more = paths.length > 5 ? ` and ${paths.length - 5} more` : "";
  return paths.slice(0, 5).join(", ") + more;
}
