import type * as z from "zod";
import { decodeText } from "../../base/edits/encoding.ts";
import { filesOf } from "../../base/edits/changes.ts";
import { RootedError } from "../../jail/rooted.ts";
import { looksBinary } from "../../jail/unit/files.ts";
import { readUntrusted, type UntrustedFiles } from "../../jail/untrusted_files.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { SessionState } from "../../session/session_state.ts";
import type { pendingFileSchema } from "./schemas.ts";

type PendingFile = z.output<ReturnType<typeof pendingFileSchema>>;

const FILES_MAX = 20;
const FILE_BYTES_MAX = 512 * 1024;

/**
 * Reads the files that a pending call would change, as the session's tools would read them.
 * @param hidden absolute real paths that the tools cannot see
 * @throws {SvcError} not_found when the approval is not pending
 */
export function pendingFiles(
  { id, workdir, pending_approvals }: SessionState,
  approval_id: string,
  hidden: readonly string[],
): PendingFile[] {
  const asked = pending_approvals.find((it) => it.approval_id === approval_id);
  if (asked === undefined) {
    throw new SvcError("not_found", `no approval ${approval_id} is pending in session ${id}`);
  }
  const paths = filesOf(asked.tool, asked.args);
  if (paths.length === 0) return [];
  return readUntrusted(
    workdir,
    (files) =>
      paths.map((path, n): PendingFile =>
        n < FILES_MAX
          ? pendingFile(files, path)
          : { path, state: "unreadable", reason: `only the first ${FILES_MAX} files are read` }
      ),
    hidden,
  );
}

function pendingFile(files: UntrustedFiles, path: string): PendingFile {
  try {
    const data = files.read(path, FILE_BYTES_MAX);
    if (data === undefined) return { path, state: "missing" };
    const content = looksBinary(data) ? undefined : decodeText(data)?.text;
    if (content === undefined) return { path, state: "unreadable", reason: "this is not a text" };
    return { path, state: "text", content };
  } catch (error) {
    if (!(error instanceof RootedError)) throw error;
    return { path, state: "unreadable", reason: error.message };
  }
}
