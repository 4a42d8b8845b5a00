/** Sessions of a daemon that is gone: found without its index, brought back from their journals. */
import { join } from "@std/path";
import { readDirIfAny } from "../platform/files.ts";
import type { Log } from "../platform/log.ts";
import { MAIN_LANE } from "./events.ts";
import type { IndexEntries } from "./index_file.ts";
import { Journal } from "./journal.ts";
import { Session, type SessionParts } from "./session.ts";
import { applyToState, type SessionState } from "./state.ts";
import { checkJournalPrivate } from "./workdir.ts";

export interface RestoreParts {
  session: SessionParts;
  log: Log;
  /** Of the daemon that brings it back. */
  version: string;
}

/**
 * Brings a session back from its journal: what the daemon before left open is closed, and one that
 * it paused for its stop runs again.
 *
 * @param state empty; it is then what the journal made of it, also where reading it fails.
 * @throws when the journal cannot be read, written, or is not private.
 */
export async function restoreSession(
  state: SessionState,
  journal_path: string,
  { session: parts, log, version }: RestoreParts,
): Promise<Session> {
  checkJournalPrivate(journal_path);
  const { journal, torn_bytes } = await Journal.open(
    journal_path,
    (event) => applyToState(state, event),
  );
  if (journal.last_seq === 0) throw new Error("the journal is empty");
  const session = new Session(state, journal, parts);
  if (torn_bytes > 0) {
    log.warn("cut off the torn last line of a journal", {
      session_id: state.id,
      path: journal_path,
      torn_bytes,
    });
  }
  if (session.final) return session;
  if (torn_bytes > 0) {
    await session.emit("lane.note", {
      lane_id: MAIN_LANE,
      text: `The journal's torn last line (${torn_bytes} bytes) was cut off.`,
      reason_code: "journal_torn",
    });
  }
  await session.recover();
  await session.emit("daemon.reloaded", { at: new Date().toISOString(), version });
  if (state.paused_by === "daemon_shutdown") await session.resume("daemon_started");
  return session;
}

/** What the links in `journals/`, and the folders they lead to, say of the sessions there are. */
export function findJournals(journal_links: string): IndexEntries {
  const paths = new Map<string, string>();
  for (const link of Deno.readDirSync(journal_links)) {
    if (link.isSymlink) paths.set(link.name, Deno.readLinkSync(join(journal_links, link.name)));
  }
  for (const path of [...paths.values()]) {
    const sessions = join(path, "..", "..");
    for (const { name } of readDirIfAny(sessions)) {
      if (!paths.has(name) && name.startsWith("sess_")) {
        paths.set(name, join(sessions, name, "journal.ndjson"));
      }
    }
  }
  const entries: IndexEntries = {};
  for (const [id, journal_path] of paths) {
    const workdir = join(journal_path, "..", "..", "..", "..");
    entries[id] = { workdir, started_at: "", journal_path, last_seq: 0 };
  }
  return entries;
}
