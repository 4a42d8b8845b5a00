/**
 * Turns an agent's request to change files itself into calls of the session's tools. In a session
 * that asks, the agent's process cannot write in the session's directory: svc writes what the
 * person has allowed.
 */
import type { ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { isAbsolute, relative } from "@std/path";
import type * as z from "zod";
import type { editSchema } from "../../protocol/schemas/edit.ts";

/** What is known of an agent's call: its updates so far, and the request for permission. */
export type KnownCall = Partial<Omit<ToolCallUpdate, "toolCallId">>;

/** One file's part of what an agent wants to do. */
export type OwnEdit =
  /** The whole text of a file, which may exist. */
  | { path: string; content: string }
  | { path: string; edits: z.output<ReturnType<typeof editSchema>>[] }
  | { path: string; deleted: true };

/** Kinds of calls that change files; others may do so too. */
const CHANGING: ReadonlySet<unknown> = new Set(["edit", "delete", "move"]);

/** Returns a path as the tools take it; undefined outside of the working directory. */
export function insideOf(path: string, workdir: string): string | undefined {
  const inside = isAbsolute(path) ? relative(workdir, path) || "." : path;
  return inside === ".." || inside.startsWith("../") ? undefined : inside;
}

/**
 * Returns what an agent wants to change in the working directory.
 *
 * @returns undefined if nothing says that it is in there; empty if the request does not say what
 * exactly would change
 */
export function ownEdits(call: KnownCall, workdir: string): OwnEdit[] | undefined {
  const { kind, locations } = call;
  const diffs = (call.content ?? []).filter((it) => it.type === "diff");
  const places = diffs.length > 0 ? diffs : CHANGING.has(kind) ? locations ?? [] : [];
  const paths = places.flatMap(({ path }) => insideOf(path, workdir) ?? []);
  if (paths.length === 0) return undefined;
  // What lies elsewhere is the agent's own to write, so it is no part of this.
  const edits = [...new Set(paths)].map((path) => {
    const own = diffs.filter((diff) => insideOf(diff.path, workdir) === path);
    return /[\r\n]/.test(path) ? undefined : editOf(path, own, call);
  });
  return edits.includes(undefined) ? [] : edits.filter((edit) => edit !== undefined);
}

type Diff = Extract<ToolCallContent, { type: "diff" }>;

/** @returns undefined if it is not clear what it would do */
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
