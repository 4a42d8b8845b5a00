/** What a call makes of a file as it is now. */
import { changesOf } from "../../../src/base/edits/changes.ts";
import type { Result } from "../rpc/api.ts";
import type { FileChange } from "./call.ts";

export type FileNow = Result<"approvals.files">["files"][number];

export interface DiskChange extends FileChange {
  /** What the change is compared with. */
  note: string;
  /** Whether the change is all that the call does to the file. */
  whole: boolean;
}

interface Edit {
  old_text: string;
  new_text: string;
  replace_all?: boolean;
}

/**
 * The change that a call of write_file or edit_file makes.
 *
 * @returns undefined when the call changes no file.
 */
export function changeOnDisk(
  tool: string,
  args: unknown,
  { state, content = "", reason }: Pick<FileNow, "state" | "content" | "reason">,
): DiskChange | undefined {
  const parts = changesOf(tool, args);
  if (parts.length === 0) return undefined;
  const asked = {
    before: parts.map(({ before }) => before ?? "").join("\n"),
    after: parts.map(({ after }) => after).join("\n"),
  };
  if (state === "unreadable") {
    return { ...asked, note: `Not compared with the file as it is now: ${reason}`, whole: false };
  }
  const writes = tool === "write_file" || (state === "missing" && asked.before === "");
  const after = writes ? asked.after : edited(content, args);
  if (after === undefined) {
    return { ...asked, note: "The change as the call gives it", whole: false };
  }
  const note = state === "missing"
    ? "New file"
    : after === content
    ? "The file has this content already"
    : "Compared with the file as it is now";
  return { before: content, after, note, whole: true };
}

/** A text after the edits of a call; undefined where one does not fit exactly, in one place. */
function edited(text: string, args: unknown): string | undefined {
  const { edits = [args] } = args as { edits?: unknown[] };
  for (const { old_text, new_text, replace_all } of edits as Edit[]) {
    const parts = old_text === "" ? [] : text.split(old_text);
    if (parts.length < 2 || (parts.length > 2 && !replace_all)) return undefined;
    text = parts.join(new_text);
  }
  return text;
}
