/** The sessions index in memory, and when it is written. */
import { dirname } from "@std/path";
import { messageOf } from "../protocol/errors.ts";
import { flushDir } from "../os/files.ts";
import type { Log } from "../os/log.ts";
import {
  INDEX,
  type IndexEntries,
  type IndexEntry,
  IndexFile,
  KNOWN,
  type Known,
} from "./index_file.ts";
import { noteOf, readNote, type RestNote, versionOf, writeNote } from "./rest_note.ts";
import type { Session } from "./session.ts";
import { type SessionItem, toItem } from "./session_item.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { SessionState } from "./session_state.ts";
import { laneEnded, messageWaits, turnIsDue } from "./state_facts.ts";

/** Number of sessions that makes the index a large file. */
const MANY = 1_000;
/** Delay of a large index's write, per session; starts and ends of sessions are written at once. */
const SAVE_MS_EACH = 0.25;
/** Delay of the other file's write; the next start reads the journals that have grown since. */
const KNOWN_MS = 200;

interface SessionIndexParts {
  path: string;
  /** The file with facts that product.md's index lacks. */
  known_path: string;
  /** The note of a clean stop. */
  note_path: string;
  log: Log;
  /** Completes or rebuilds the entries. */
  complete(read: { entries?: IndexEntries; problem?: string }): IndexEntries;
}

export class SessionIndex {
  readonly #parts: SessionIndexParts;
  readonly #file: IndexFile;
  readonly #known: IndexFile;
  /** The entries, once read; those of {@linkcode SessionIndex.#changed} are stale. */
  #entries: IndexEntries | undefined;
  #changed = new Set<Session>();
  /** Whether the file is out of date. */
  #dirty = false;
  /** Whether a valid note is on the disk. */
  #noted = false;
  #leaving: Promise<void> | undefined;
  #saving: number | undefined;
  #saving_known: number | undefined;

  constructor(parts: SessionIndexParts) {
    this.#parts = parts;
    this.#file = new IndexFile(parts.path, INDEX, () => this.#current());
    this.#known = new IndexFile(parts.known_path, KNOWN, () => this.#current());
  }

  /** All entries; read at the first use. @throws the system's error */
  get entries(): IndexEntries {
    return this.#entries ??= this.#read();
  }

  #read(): IndexEntries {
    const index = this.#file.read<IndexEntry>();
    const known = this.#known.read<Known | null>();
    const in_file = index.entries ?? {};
    for (const id in in_file) in_file[id].known = known.entries?.[id] ?? undefined;
    this.#dirty ||= index.entries === undefined;
    const found = this.#parts.complete(index);
    for (const id in found) {
      const lost = Object.hasOwn(in_file, id) ? undefined : known.entries?.[id];
      // The index lost it, the other file knows it. Its journal is read for the rest.
      if (lost) found[id].known = { ...lost, busy: true };
    }
    return found;
  }

  // ── the note of a clean stop ─────────────────────────────────────────────────────────────────

  /** Reads the last stop's note; undefined when the sessions may have changed since. */
  readNote(): RestNote | undefined {
    const { note_path } = this.#parts;
    // An invalid one is removed too.
    this.#noted = true;
    return readNote(note_path, this.#versions());
  }

  /** Removes the note before a write to a journal, so that no crash or power cut leaves it. */
  async leaveNote(): Promise<void> {
    if (this.#noted && this.#dropNote()) {
      this.#leaving = flushDir(dirname(this.#parts.note_path));
    }
    await this.#leaving;
  }

  /** Writes the next start's note, if nothing is unsaved. @param size number of open sessions */
  async writeNote(size: () => number | Promise<number>): Promise<void> {
    if (this.#noted || this.#dirty) return;
    this.#noted = true;
    const open = await size();
    await writeNote(this.#parts.note_path, noteOf(this.entries, open, this.#versions()));
    // Something changed meanwhile.
    if (!this.#noted) this.#dropNote();
  }

  /** @returns whether there was a note */
  #dropNote(): boolean {
    try {
      Deno.removeSync(this.#parts.note_path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      this.#noted = false;
      return false;
    }
    this.#noted = false;
    return true;
  }

  #versions(): string[] {
    return [versionOf(this.#parts.path), versionOf(this.#parts.known_path)];
  }

  // ── changes ──────────────────────────────────────────────────────────────────────────────────

  /** Keeps the entry of an unreadable session. */
  put(id: string, entry: IndexEntry): void {
    this.entries[id] = entry;
    this.#dirty = true;
  }

  /** Marks a session as added or changed. */
  changed(session: Session): void {
    this.#changed.add(session);
    this.#dirty = true;
    // By a turn that ran after the stop's note.
    if (this.#noted) this.#dropNote();
  }

  remove(id: string, session: Session | undefined): void {
    if (session !== undefined) this.#changed.delete(session);
    delete this.entries[id];
    this.#dirty = true;
  }

  /** Writes the file with all pending changes. */
  async save(): Promise<void> {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    await this.#save(this.#file, this.#known);
  }

  async #save(...files: IndexFile[]): Promise<void> {
    if (files.includes(this.#known)) {
      clearTimeout(this.#saving_known);
      this.#saving_known = undefined;
    }
    try {
      await Promise.all(files.map((file) => file.save()));
    } catch (error) {
      this.#dirty = true;
      throw error;
    }
  }

  /** Writes the file if something changed, after a running write. */
  async saveChanged(): Promise<void> {
    await Promise.allSettled([this.#file.settled(), this.#known.settled()]);
    if (this.#dirty || this.#saving_known !== undefined) await this.save();
  }

  /** Writes the index for a new session. The other file follows: the journal can replace it. */
  async saveMade(): Promise<void> {
    this.#saveKnownSoon();
    await this.#save(this.#file);
  }

  async saveConfiguring(session: Session): Promise<void> {
    this.changed(session);
    await this.#known.saveDurably();
  }

  /** As {@linkcode SessionIndex.save}; logs a failure, and the next change retries. */
  async trySave(): Promise<void> {
    await this.save().catch((error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    this.#parts.log.error("cannot write the sessions index", { error: messageOf(error) });
  }

  /** Writes the file after a flush; a large one not each time. @param sessions their number */
  saveFlushed(sessions: number): void {
    if (sessions < MANY) {
      this.#save(this.#file).catch((error) => this.#failed(error));
      this.#saveKnownSoon();
    } else this.#saving ??= setTimeout(() => this.trySave(), sessions * SAVE_MS_EACH);
  }

  #saveKnownSoon(): void {
    this.#saving_known ??= setTimeout(
      () => this.#save(this.#known).catch((error) => this.#failed(error)),
      KNOWN_MS,
    );
  }

  #current(): IndexEntries {
    const { entries } = this;
    this.#dirty = false;
    for (const { id, state, journal, configuring } of this.#changed) {
      const { workdir, started_at, last_seq } = state;
      const { path: journal_path, size, oldest_at } = journal;
      const changed = changeOf(journal_path) ?? "";
      const known = knownOf(state, { size, changed, oldest_at });
      if (configuring.size > 0) known.configuring = [...configuring];
      entries[id] = { workdir, started_at, journal_path, last_seq, known };
    }
    this.#changed.clear();
    return entries;
  }
}

/** Identifies the version of a journal; undefined if missing. ctime has whole seconds only. */
export function changeOf(journal_path: string): string | undefined {
  try {
    return change(Deno.lstatSync(journal_path));
  } catch {
    return undefined;
  }
}

function change({ size, mode, mtime, ctime }: Deno.FileInfo): string {
  return [size, mode, mtime?.getTime(), ctime?.getTime()].join(" ");
}

/** Whether a journal is unchanged since the index was written. */
export function isAsKnown(journal_path: string, { journal }: Known): boolean {
  try {
    const info = Deno.lstatSync(journal_path);
    return info.isFile && info.size === journal.size && change(info) === journal.changed;
  } catch {
    return false;
  }
}

function knownOf(state: SessionState, journal: Known["journal"]): Known {
  const open = state.lanes.some((lane) => lane.lane_id !== MAIN_LANE && !laneEnded(lane));
  const stopped = state.paused_by === "daemon_shutdown";
  // It continues once the daemon listens, and need not be read before.
  const left = stopped && state.turn !== undefined
    ? {
      activity: state.activity,
      approvals: state.pending_approvals.length,
      parked_until: state.turn.parked?.until,
    }
    : undefined;
  const busy = state.state !== "ended" && left === undefined && (
    state.turn !== undefined || messageWaits(state) || turnIsDue(state) || open ||
    state.pending_approvals.length > 0
  );
  return {
    directory: state.directory,
    model: state.model,
    title: state.title,
    goal: state.goal,
    state: state.state,
    ended_at: state.ended_at,
    last_event_at: state.last_event_at,
    approval: state.approval,
    trust: state.trust,
    budget_usd: state.budget_usd,
    added_dirs: state.added_dirs,
    network: state.network,
    cost_usd: state.cost_usd,
    pinned: state.pinned,
    archived: state.archived,
    temporary: state.temporary,
    unpriced: state.unpriced,
    tokens_in: state.tokens_in,
    tokens_out: state.tokens_out,
    lanes: state.lanes,
    allowed: state.allowed,
    stopped: stopped ? true : undefined,
    left,
    busy: busy ? true : undefined,
    journal,
  };
}

/** The list item of a session that is not open. */
export function itemOf(
  id: string,
  { workdir, started_at, last_seq }: IndexEntry,
  known: Known,
): SessionItem {
  const { stopped, left } = known;
  const state = stopped ? "running" : known.state;
  const activity = left?.activity ?? "idle";
  const parked_until = left?.parked_until;
  const place = { id, workdir, started_at, last_seq };
  const shared = { ...known, ...place, state, activity, parked_until } as const;
  return toItem(shared, left?.approvals ?? 0);
}
