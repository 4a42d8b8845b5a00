/** Sessions whose journals are unreadable: listed, with their files untouched. */
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
  /** The error for a client that asks for it. */
  told: { message: string; hint: string };
  /** Whether the problem may pass by itself, so that a retry makes sense. */
  passing: boolean;
  /** Version of the journal that was tried; another one is retried. */
  changed?: string;
}

/** System errors that may pass: something is short, or a disk is away. */
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

/** Describes an unreadable session. @param error why it is unreadable */
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
      ...toItem({ ...emptyState(id), workdir, started_at, last_seq }, 0),
      state: "unreadable",
      reason,
    },
  };
}

/** Whether the problem is the directory's place or access. */
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

/** Whether to try to read a session again. */
export function mayBeReadable({ passing, changed, entry }: Unreadable): boolean {
  return passing || changeOf(entry.journal_path) !== changed;
}

/** Returns an `unavailable` error if the problem may pass, else `schema_version` or `conflict`. */
export function unreadableError({ item: { id }, told }: Unreadable, cause?: unknown): SvcError {
  const { message, hint } = told;
  const code = message.includes("schema version")
    ? "schema_version"
    : PASSING.has((cause as { code?: string } | undefined)?.code ?? "")
    ? "unavailable"
    : "conflict";
  return new SvcError(code, `session ${id} is unreadable: ${message}`, { hint, cause });
}
