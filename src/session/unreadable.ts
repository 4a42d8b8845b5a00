/** Sessions whose journals cannot be read: kept, listed, their files untouched. */
import { directoryAt, isSameDirectory } from "../os/directory_identity.ts";
import { messageOf, SvcError, withHint } from "../protocol/errors.ts";
import type { IndexEntry } from "./index_file.ts";
import { OlderJournal, UnreadableJournal } from "./journal.ts";
import { accessHint, movedHint } from "./place_hints.ts";
import { changeOf } from "./session_index.ts";
import { type SessionItem, toItem } from "./session_item.ts";
import { emptyState } from "./state.ts";

export interface Unreadable {
  item: SessionItem & { state: "unreadable"; reason: string };
  entry: IndexEntry;
  /** What one is told who asks for it. */
  told: { message: string; hint: string };
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
  const told = toldOf(id, entry, error);
  const reason = error instanceof SvcError
    ? withHint(error)
    : isOfPlace(error)
    ? `${told.message}; ${told.hint}`
    : told.message;
  return {
    entry,
    told,
    passing: !(error instanceof UnreadableJournal),
    changed: changeOf(journal_path),
    item: {
      ...toItem({ ...emptyState(id), workdir, started_at, last_seq }),
      state: "unreadable",
      reason,
    },
  };
}

/** Whether a session cannot be read because of where its directory is, or is not. */
function isOfPlace(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof OlderJournal ||
    error instanceof Deno.errors.PermissionDenied;
}

function toldOf(id: string, entry: IndexEntry, error: unknown): Unreadable["told"] {
  const { workdir, journal_path, known } = entry;
  const kill = "session.kill removes the session from the list";
  if (error instanceof Deno.errors.PermissionDenied) {
    return {
      message: `its directory cannot be read: ${messageOf(error)}`,
      hint: accessHint(workdir),
    };
  }
  if (error instanceof OlderJournal) return { message: error.message, hint: movedHint(id) };
  if (!(error instanceof Deno.errors.NotFound)) {
    const message = error instanceof SvcError ? withHint(error) : messageOf(error);
    return { message, hint: `its journal was not changed: ${journal_path}; ${kill}` };
  }
  const here = directoryAt(workdir);
  if (here === undefined) {
    return { message: `its directory is not at ${workdir}`, hint: movedHint(id) };
  }
  if (known?.directory === undefined || !isSameDirectory(here, known.directory)) {
    const message = `another directory is at ${workdir}, without the session's journal`;
    return { message, hint: movedHint(id) };
  }
  return {
    message: `its journal is not at ${journal_path}`,
    hint: `it was removed there; ${kill}`,
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
export function unreadableError({ item: { id }, told }: Unreadable, cause?: unknown): SvcError {
  const { message, hint } = told;
  const code = message.includes("schema version")
    ? "schema_version"
    : PASSING.has((cause as { code?: string } | undefined)?.code ?? "")
    ? "unavailable"
    : "conflict";
  return new SvcError(code, `session ${id} is unreadable: ${message}`, { hint, cause });
}
