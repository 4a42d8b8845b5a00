/** What the sessions index says of the sessions, and when it is written. */
import { messageOf } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { type IndexEntries, type IndexEntry, IndexFile } from "./index_file.ts";
import type { Session } from "./session.ts";

/** From so many sessions on the index is a large file. */
const MANY = 1_000;
/** How long it may then lag behind a flush; it never does behind a session's start and end. */
const SAVE_MS = 250;

export class SessionIndex {
  readonly #file: IndexFile;
  readonly #log: Log;
  /** What the file is to hold; the entries of {@linkcode SessionIndex.#changed} are out of date. */
  #entries: IndexEntries = {};
  #changed = new Set<Session>();
  #saving: number | undefined;

  constructor({ path, log }: { path: string; log: Log }) {
    this.#file = new IndexFile(path, () => this.#current());
    this.#log = log;
  }

  /** Reads the file; see {@linkcode IndexFile.read}. */
  read(): ReturnType<IndexFile["read"]> {
    return this.#file.read();
  }

  /** Keeps the entry of a session that cannot be read. */
  put(id: string, entry: IndexEntry): void {
    this.#entries[id] = entry;
  }

  /** Notes that a session was added, or has changed since. */
  changed(session: Session): void {
    this.#changed.add(session);
  }

  /** Takes a session out. */
  remove(id: string, session: Session | undefined): void {
    if (session !== undefined) this.#changed.delete(session);
    delete this.#entries[id];
  }

  /** Writes the file, and what waited for it with it. */
  save(): Promise<void> {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    return this.#file.save();
  }

  /** As {@linkcode SessionIndex.save}; a failure is logged, and the next change has it written again. */
  async trySave(): Promise<void> {
    try {
      await this.save();
    } catch (error) {
      this.#log.error("the sessions index cannot be written", { error: messageOf(error) });
    }
  }

  /**
   * Has the file written after a flush; where that is much, not for every one. Nothing waits for it.
   *
   * @param sessions how many there are.
   */
  saveFlushed(sessions: number): void {
    if (sessions < MANY) void this.trySave();
    else this.#saving ??= setTimeout(() => this.trySave(), SAVE_MS);
  }

  #current(): IndexEntries {
    for (const { id, state, journal } of this.#changed) {
      this.#entries[id] = {
        workdir: state.workdir,
        started_at: state.started_at,
        journal_path: journal.path,
        last_seq: state.last_seq,
      };
    }
    this.#changed.clear();
    return this.#entries;
  }
}
