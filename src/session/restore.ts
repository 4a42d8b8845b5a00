/** Restores sessions from their journals after a restart. */
import { messageOf } from "../protocol/errors.ts";
import {
  couldBeSameDirectory,
  directoryAt,
  isSameButForDevice,
  isSameDirectory,
} from "../os/directory_identity.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { HubParts } from "./hub_parts.ts";
import type { IndexEntry, Known, Rights } from "./index_file.ts";
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

interface RestoreParts extends Pick<HubParts, "log" | "version"> {
  session: SessionParts;
  snapshots: Snapshots;
  anchor: string;
  /** Its new place, if known. */
  at?: Found;
  /** Returns where its directory may be, if the journal is missing. */
  find(): Promise<readonly Found[]>;
}

interface Read {
  journal: Journal;
  torn_bytes: number;
  state: SessionState;
  kept?: Kept;
}

/**
 * Restores a session: closes what the last daemon left open in the journal, and resumes it if that
 * daemon's stop paused it.
 *
 * @throws when the journal is unreadable, not writable or not private, or contradicts the index or
 * the anchor
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
  // Saves descriptors when there are many sessions.
  session.journal.release();
  return session;
}

/** Reads a journal from the last snapshot on, or all of it. */
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

/** The records, or only their times, differ from the anchored ones. */
class NotAsAnchored extends Error {
  override name = "NotAsAnchored";
}

/**
 * Reads a whole journal, compares it with its anchor, and writes a snapshot of a long one.
 *
 * @param times whether changed times are refused; then most journals need one hash per record
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
  // Up to the anchor's record only one hash is computed; the anchor has the other.
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
  // After a rewind this is not the conversation; the next turn reads it.
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

/** Whether records are the anchored ones. Their times may differ: those only change their age. */
function isSame(anchor: Anchor, { hash, timeless }: Anchor): boolean {
  return anchor.hash === hash ||
    (anchor.timeless !== undefined && anchor.timeless === timeless);
}

/** Asserts that a directory is the session's. */
function requireDirectory({ directory }: SessionState, workdir: string): void {
  const there = directoryAt(workdir);
  if (directory !== undefined && there && isSameDirectory(directory, there)) return;
  throw new Error(`${workdir} is another directory`);
}

/**
 * Asserts that a replaced directory has the whole journal. In the original one a power cut may
 * have removed its end.
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

/** Records a session's directory if it is new. */
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

/** Rights are in the index before the journal; a journal with other rights was changed. */
function requireSame(state: SessionState, known: Known): void {
  for (const name of ["approval", "trust", "budget_usd", "added_dirs", "network"] as const) {
    const isSame = (rights: Rights) => JSON.stringify(rights[name]) === JSON.stringify(state[name]);
    if (isSame(known) || known.configuring?.some(isSame)) continue;
    throw new UnreadableJournal(
      `its journal says ${name} ${JSON.stringify(state[name] ?? null)}, the sessions index ` +
        JSON.stringify(known[name] ?? null),
    );
  }
  state.allowed = state.allowed.filter((rule) => known.allowed.includes(rule));
}
