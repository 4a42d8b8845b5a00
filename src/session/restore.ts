/** Sessions of a daemon that is gone: found without its index, brought back from their journals. */
import { messageOf } from "../protocol/errors.ts";
import {
  couldBeSameDirectory,
  directoryAt,
  isSameButForDevice,
  isSameDirectory,
} from "../os/directory_identity.ts";
import type { Log } from "../os/log.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { IndexEntry, Known } from "./index_file.ts";
import {
  Journal,
  MovedJournal,
  OlderJournal,
  type OpenOptions,
  UnreadableJournal,
} from "./journal.ts";
import { type Anchor, BEGINNING, hasher, readAnchor, saveAnchor } from "./ledger.ts";
import { Session, type SessionParts } from "./session.ts";
import type { Found } from "./lost_directory.ts";
import { movedTo } from "./relocation.ts";
import { KEEP_MIN, type Kept, type Snapshots } from "./snapshots.ts";
import type { SessionState } from "./session_state.ts";
import { applyToState, emptyState } from "./state.ts";
import { Transcript } from "./transcript.ts";
import { checkJournalPrivate } from "./workdir.ts";

export interface RestoreParts {
  session: SessionParts;
  snapshots: Snapshots;
  /** The file of the session's ledger anchor. */
  anchor: string;
  log: Log;
  /** Of the daemon that brings it back. */
  version: string;
  /** Where it goes on, if its directory is not where it was. */
  at?: Found;
  /** Returns where its directory may be, if its journal is not where it was. */
  find(): Promise<readonly Found[]>;
}

/** A directory has the session's journal, but is not the one that the journal is about. */
class NotItsDirectory extends Error {
  override name = "NotItsDirectory";
}

/** A journal that was read. */
interface Read {
  journal: Journal;
  torn_bytes: number;
  state: SessionState;
  kept?: Kept;
}

/**
 * Brings a session back from its journal: what the daemon before left open is closed, and one that
 * it paused for its stop runs again.
 *
 * @throws when the journal cannot be read, written, is not private, or is not what the index and the
 * anchor say of it.
 */
export async function restoreSession(
  id: string,
  entry: IndexEntry,
  parts: RestoreParts,
): Promise<Session> {
  if (parts.at !== undefined) return await restoreFrom(id, entry, parts, parts.at);
  try {
    return await restoreFrom(id, entry, parts);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof OlderJournal)) throw error;
    for (const found of await parts.find()) {
      try {
        return await restoreFrom(id, entry, parts, found);
      } catch (cause) {
        const { workdir } = found;
        parts.log.warn("a directory is not the one of a session", {
          session_id: id,
          workdir,
          error: messageOf(cause),
        });
      }
    }
    throw error;
  }
}

async function restoreFrom(
  id: string,
  entry: IndexEntry,
  parts: RestoreParts,
  found?: Found,
): Promise<Session> {
  const { log, version } = parts;
  const { known } = entry;
  const { journal_path } = found ?? entry;
  checkJournalPrivate(journal_path);
  const { journal, torn_bytes, state, kept } = await readSession(id, journal_path, parts);
  if (journal.last_seq === 0) throw new UnreadableJournal("the journal is empty");
  if (known !== undefined) requireSame(state, known);
  if (found !== undefined && !found.certain) requireDirectory(state, found.workdir);
  if (found === undefined) requireNewest(state, entry.last_seq);
  const session = new Session(state, journal, parts.session, kept);
  if (torn_bytes > 0) {
    log.warn("cut off the torn last line of a journal", {
      session_id: state.id,
      path: journal_path,
      torn_bytes,
    });
  }
  if (!session.final) {
    await recordPlace(session, found);
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
  }
  // Few descriptors are enough for many sessions.
  session.journal.release();
  return session;
}

/** Reads what follows the last snapshot; all of the journal where there is none for it. */
async function readSession(id: string, path: string, parts: RestoreParts): Promise<Read> {
  const snapshot = await parts.snapshots.read(id);
  if (snapshot !== undefined) {
    const { place, state, ...kept } = snapshot;
    try {
      const onRecord = applyToState.bind(undefined, state);
      return { ...await Journal.open(path, { from: place, onRecord }), state, kept };
    } catch (error) {
      if (!(error instanceof MovedJournal)) throw error;
      const session_id = id;
      parts.log.warn("reading a journal from its beginning", { session_id, reason: error.message });
    }
  }
  return await readWhole(id, path, parts);
}

/** The records are not the anchored ones, or their times alone are other ones. */
class NotAsAnchored extends Error {
  override name = "NotAsAnchored";
}

/**
 * Reads all of a journal, holds it against its anchor, and keeps what a long one has come to.
 *
 * @param times whether other times than the anchored records have are refused; most journals have the
 * same, and need one hash for a record.
 */
async function readWhole(
  id: string,
  path: string,
  parts: RestoreParts,
  times = true,
): Promise<Read> {
  const { snapshots, log } = parts;
  const anchor = await readAnchor(parts.anchor);
  const accept = `; if you changed it yourself, remove ${parts.anchor} to accept the change`;
  const state = emptyState(id);
  const transcript = new Transcript();
  const hashOf = await hasher();
  // The anchor has the other hash of its record, so up to there it is not computed.
  let one_hash = times && anchor?.timeless !== undefined;
  let head: Anchor = one_hash ? { ...BEGINNING, timeless: undefined } : BEGINNING;
  const onRecord: OpenOptions["onRecord"] = (event, line) => {
    applyToState(state, event);
    transcript.apply(event);
    head = hashOf(head, event, line);
    if (one_hash) head.timeless = undefined;
    if (anchor?.seq !== head.seq) return;
    if (!isSame(anchor, head)) throw new NotAsAnchored();
    if (one_hash) head = anchor;
    one_hash = false;
  };
  let opened: Awaited<ReturnType<typeof Journal.open>>;
  try {
    opened = await Journal.open(path, { onRecord });
  } catch (error) {
    if (!(error instanceof NotAsAnchored)) throw error;
    if (one_hash) return await readWhole(id, path, parts, false);
    throw new UnreadableJournal(
      `the records up to seq ${anchor!.seq} do not match the anchor` + accept,
    );
  }
  const { journal } = opened;
  if (anchor !== undefined && anchor.seq > journal.last_seq) {
    throw new UnreadableJournal(
      `the journal ends at seq ${journal.last_seq}, but its anchor is at seq ${anchor.seq}` +
        accept,
    );
  }
  // With something taken back, this is not the conversation; the next turn reads it.
  const rewound = state.undo.changed_seq > 0;
  if (journal.size < KEEP_MIN || rewound) return { ...opened, state };
  try {
    await saveAnchor(parts.anchor, head);
    return { ...opened, state, kept: await snapshots.write(state, transcript, journal) };
  } catch (error) {
    log.error("cannot write a session's snapshot", {
      session_id: id,
      error: messageOf(error),
    });
    return { ...opened, state };
  }
}

/** Whether records are the anchored ones. Other times give them no other meaning, only another age. */
function isSame(anchor: Anchor, { hash, timeless }: Anchor): boolean {
  return anchor.hash === hash ||
    (anchor.timeless !== undefined && anchor.timeless === timeless);
}

/** Asserts that a directory is the one that a session's journal is about. */
function requireDirectory({ directory }: SessionState, workdir: string): void {
  const there = directoryAt(workdir);
  if (directory !== undefined && there && isSameDirectory(directory, there)) return;
  throw new NotItsDirectory(`${workdir} is another directory`);
}

/**
 * Asserts that what took the place of a session's directory has all of its journal. In its own, a
 * power cut may have taken the end of it.
 */
function requireNewest({ workdir, directory, last_seq }: SessionState, known_seq: number): void {
  const here = directoryAt(workdir);
  if (!here || !directory || last_seq >= known_seq) return;
  if (couldBeSameDirectory(here, directory) || isSameButForDevice(here, directory)) return;
  throw new OlderJournal(
    `another directory is at ${workdir}; its journal of the session ends at seq ${last_seq}, not ` +
      `at ${known_seq}`,
  );
}

/** Records where a session's directory is, and what it is, if that is not known. */
async function recordPlace(session: Session, found?: Found): Promise<void> {
  const { workdir, directory } = session.state;
  if (found !== undefined && found.workdir !== workdir) {
    await session.emit("session.moved", movedTo(found.workdir, workdir, found.by));
    return;
  }
  const here = directoryAt(workdir);
  if (here === undefined || directory && couldBeSameDirectory(here, directory)) return;
  if (directory === undefined || isSameButForDevice(here, directory)) {
    await session.emit("session.located", { directory: here });
  } else {
    const moved = { ...movedTo(workdir, workdir, "svc"), replaced: true } as const;
    await session.emit("session.moved", moved);
  }
}

/** The index has what a session may do before its journal; one that says otherwise was changed. */
function requireSame(state: SessionState, known: Known): void {
  for (const name of ["approval", "trust", "budget_usd"] as const) {
    if (state[name] === known[name]) continue;
    if (known.configuring?.some((rights) => rights[name] === state[name])) continue;
    throw new UnreadableJournal(
      `its journal says ${name} ${JSON.stringify(state[name] ?? null)}, the sessions index ` +
        JSON.stringify(known[name] ?? null),
    );
  }
  state.allowed = state.allowed.filter((rule) => known.allowed.includes(rule));
}
