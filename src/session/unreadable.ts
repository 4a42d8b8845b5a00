/** Sessions whose journals cannot be read: kept, listed, their files untouched. */
import { directoryAt } from "../os/directory_identity.ts";
import { messageOf, SvcError, withHint } from "../protocol/errors.ts";
import type { IndexEntry } from "./index_file.ts";
import { UnreadableJournal } from "./journal.ts";
import { movedHint } from "./moved_hint.ts";
import { changeOf } from "./session_index.ts";
import { type SessionItem, toItem } from "./session_item.ts";
import { emptyState } from "./state.ts";

export interface Unreadable {
  item: SessionItem & { state: "unreadable"; reason: string };
  entry: IndexEntry;
  /** Whether its journal is not where it was. */
  gone: boolean;
  /** Whether it may pass by itself, unlike what the journal has: it is tried again. */
  passing: boolean;
  /** What the journal was when it was tried: another one is tried again. */
  changed?: string;
}

/** What the system answers when it is short of something, or a disk is away for a while. */
const PASSING = new Set([
  "EMFILE",
  "ENFILE",
  "EIO",
  "EACCES",
  "ENOMEM",
  "ESTALE",
  "ENOSPC",
  "EROFS",
]);

/**
 * What is kept of a session that cannot be read.
 *
 * @param error why it cannot be read.
 */
export function unreadable(id: string, entry: IndexEntry, error: unknown): Unreadable {
  const { journal_path, workdir, started_at, last_seq } = entry;
  const gone = error instanceof Deno.errors.NotFound;
  const reason = gone
    ? directoryAt(workdir) === undefined
      ? `its directory is not at ${workdir}`
      : `its journal is not at ${journal_path}`
    : error instanceof SvcError
    ? withHint(error)
    : messageOf(error);
  return {
    entry,
    gone,
    passing: !(error instanceof UnreadableJournal),
    changed: changeOf(journal_path),
    item: {
      ...toItem({ ...emptyState(id), workdir, started_at, last_seq }),
      state: "unreadable",
      reason,
    },
  };
}

/** Whether it is worth trying to read a session again. */
export function mayBeReadable({ passing, changed, entry }: Unreadable): boolean {
  return passing || changeOf(entry.journal_path) !== changed;
}

/**
 * What one is told who asks for a session that cannot be read: `unavailable` where it may pass,
 * `schema_version`, else `conflict`.
 */
export function unreadableError(
  { item: { id, reason }, entry, gone }: Unreadable,
  cause?: unknown,
) {
  const code = reason.includes("schema version")
    ? "schema_version"
    : PASSING.has((cause as { code?: string } | undefined)?.code ?? "")
    ? "unavailable"
    : "conflict";
  return new SvcError(code, `session ${id} is unreadable: ${reason}`, {
    hint: gone ? movedHint(id) : `its journal was not changed: ${entry.journal_path}; ` +
      "session.kill removes the session from the list",
    cause,
  });
}
