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
  const found = /^\/(undo|rewind|redo|changes|fork)(?:\s+(\S[^]*))?$/.exec(line.trim());
  if (found === null) return undefined;
  const name = found[1] === "rewind" ? "undo" : found[1] as UndoCommand["name"];
  return { name, rest: (found[2] ?? "").trim() };
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
  const words = undoWords(name, rest);
  const { path, dry_run } = words;
  const done = name === "redo"
    ? await call("session.rewind", { session_id, undo: true, ...words })
    : path === undefined
    ? await call("session.rewind", { session_id, ...words })
    : await call("session.undo_file", { session_id, ...words });
  return dry_run ? rewindText(done) : undefined;
}

interface UndoWords {
  what?: typeof WHAT[number];
  force: boolean | string[];
  dry_run: boolean;
  path?: string;
}

/** Reads the words after `/undo` or `/redo`. The name of a file goes to the end of the line. */
function undoWords(name: "undo" | "redo", rest: string): UndoWords {
  const found: UndoWords = { force: false, dry_run: false };
  for (let left = rest; left !== "";) {
    const [, word, more] = /^(\S+)\s*([^]*)$/.exec(left)!;
    const what = WHAT.find((it) => it === word);
    const is_first = found.what === undefined && found.force === false;
    if (name === "undo" && what !== undefined && found.what === undefined) found.what = what;
    else if (word === "preview") found.dry_run = true;
    else if (word === "keep" && found.force === false) found.force = [];
    else if (word === "force" && found.force === false) found.force = true;
    else if (found.force === true) return { ...found, force: [left] };
    else if (name === "undo" && is_first) return { ...found, ...fileIn(left) };
    else throw unknownWords(name, rest, HINTS[name]);
    left = more;
  }
  return found;
}

const HINTS = {
  undo: "/undo takes files, conversation or both, and preview, keep, force or force FILE",
  redo: "/redo takes preview, keep, force or force FILE",
};

/** Reads `FILE [force]`. */
function fileIn(text: string): { path: string; force: boolean } {
  const path = text.replace(/\s+force$/, "");
  return { path, force: path !== text };
}

function unknownWords(name: string, rest: string, hint: string): SvcError {
  return new SvcError("validation", `/${name}: cannot read ${JSON.stringify(rest)}`, { hint });
}

type Changes = z.output<ReturnType<typeof changesSchema>>;

type Rewound = z.output<ReturnType<typeof rewindResultSchema>>;

/** What a rewind changed or would change, as text. */
export function rewindText(done: Rewound): string {
  const { files, files_changed, files_deleted, kept, kept_count, conversation, refused } = done;
  const back = files_changed - files_deleted;
  const parts = [
    ...(back > 0 ? [`${counted(back, "file")} back`] : []),
    ...(files_deleted > 0 ? [`${files_deleted} deleted`] : []),
    ...(kept_count > 0
      ? [`${kept_count} kept because somebody changed ${kept_count === 1 ? "it" : "them"} since`]
      : []),
    ...(conversation ? ["the conversation back"] : []),
  ];
  return [
    parts.length === 0 ? "no file changes" : parts.join(", "),
    ...(refused ? ["refused unless you choose to keep or to force these files:"] : []),
    ...kept.map(({ path, reason }) =>
      reason === "changed" ? `  kept ${path}` : `  kept ${path}, which undo could not bring back`
    ),
    ...files.map((path) => `  ${path}`),
    ...(files_changed > files.length ? [`  and ${files_changed - files.length} more`] : []),
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
