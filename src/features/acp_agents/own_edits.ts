/**
 * Converts an agent's own edits into tool calls. In a session that asks, the agent cannot write in
 * the directory, so svc writes what the person allows.
 */
import type { ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { isAbsolute, relative } from "@std/path";
import type * as z from "zod";
import type { editSchema } from "../../protocol/schemas/edit.ts";

/** The updates of an agent's call so far, with its permission request. */
export type KnownCall = Partial<Omit<ToolCallUpdate, "toolCallId">>;

export type OwnEdit =
  /** The whole text of a file, which may exist. */
  | { path: string; content: string }
  | { path: string; edits: z.output<ReturnType<typeof editSchema>>[] }
  | { path: string; deleted: true };

/** Kinds of calls that change files; others may too. */
const CHANGING: ReadonlySet<unknown> = new Set(["edit", "delete", "move"]);

/** Returns a path for the tools; undefined outside of the working directory. */
export function insideOf(path: string, workdir: string): string | undefined {
  const inside = isAbsolute(path) ? relative(workdir, path) || "." : path;
  return inside === ".." || inside.startsWith("../") ? undefined : inside;
}

/**
 * Returns an agent's changes in the working directory.
 * @returns undefined if there seem to be none; empty if the exact changes are unknown
 */
export function ownEdits(call: KnownCall, workdir: string): OwnEdit[] | undefined {
  const { kind, locations } = call;
  const diffs = (call.content ?? []).filter((it) => it.type === "diff");
  const places = diffs.length > 0 ? diffs : CHANGING.has(kind) ? locations ?? [] : [];
  const paths = places.flatMap(({ path }) => insideOf(path, workdir) ?? []);
  if (paths.length === 0) return undefined;
  // The agent writes files elsewhere itself.
  const edits = [...new Set(paths)].map((path) => {
    const own = diffs.filter((diff) => insideOf(diff.path, workdir) === path);
    return /[\r\n]/.test(path) ? undefined : editOf(path, own, call);
  });
  return edits.includes(undefined) ? [] : edits.filter((edit) => edit !== undefined);
}

type Diff = Extract<ToolCallContent, { type: "diff" }>;

/** @returns undefined if the change is not clear */
function editOf(path: string, diffs: Diff[], { kind, rawInput }: KnownCall): OwnEdit | undefined {
  if (kind === "delete") {
    return diffs.every(({ newText }) => newText === "") ? { path, deleted: true } : undefined;
  }
  if (kind === "move" || diffs.length === 0) return undefined;
  const replace_all = (rawInput as { replace_all?: unknown } | undefined)?.replace_all === true;
  const edits = diffs.map(({ oldText, newText }) => ({
    old_text: oldText ?? "",
    new_text: newText,
    ...(replace_all && { replace_all }),
  }));
  if (edits.every(({ old_text }) => old_text !== "")) return { path, edits };
  return edits.length === 1 ? { path, content: edits[0].new_text } : undefined;
}
