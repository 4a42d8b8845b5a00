/** What the sessions index says of the sessions, and when it is written. */
import { messageOf } from "../protocol/errors.ts";
import type { Log } from "../os/log.ts";
import {
  INDEX,
  type IndexEntries,
  type IndexEntry,
  IndexFile,
  KNOWN,
  type Known,
} from "./index_file.ts";
import type { Session } from "./session.ts";
import type { SessionItem } from "./session_item.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import { laneEnded, messageWaits, type SessionState } from "./state.ts";

/** From so many sessions on the index is a large file. */
const MANY = 1_000;
/** How long it may then lag behind a flush, for each of them; never behind a session's start and end. */
const SAVE_MS_EACH = 0.25;
/**
 * How long what else is known may lag behind a flush: a session whose journal has grown since is read
 * at the next start.
 */
const KNOWN_MS = 200;

export class SessionIndex {
  readonly #file: IndexFile;
  readonly #known: IndexFile;
  readonly #log: Log;
  /** What the file is to hold; the entries of {@linkcode SessionIndex.#changed} are out of date. */
  #entries: IndexEntries = {};
  #changed = new Set<Session>();
  /** Whether the file does not have what it is to hold. */
  #dirty = false;
  #saving: number | undefined;
  #saving_known: number | undefined;

  /** @param known_path the file of what product.md does not have in the index. */
  constructor({ path, known_path, log }: { path: string; known_path: string; log: Log }) {
    this.#file = new IndexFile(path, INDEX, () => this.#current());
    this.#known = new IndexFile(known_path, KNOWN, () => this.#current());
    this.#log = log;
  }

  /** Reads the files; see {@linkcode IndexFile.read}. */
  async read(): Promise<{ entries?: IndexEntries; problem?: string }> {
    const [index, known] = await Promise.all([
      this.#file.read<IndexEntry>(),
      this.#known.read<Known | null>(),
    ]);
    const { entries = {} } = index;
    for (const id in entries) entries[id].known = known.entries?.[id] ?? undefined;
    return index;
  }

  /** Begins with these entries: what the file has, or what was found without it. */
  begin(entries: IndexEntries, in_file: boolean): void {
    this.#entries = entries;
    this.#dirty = !in_file;
  }

  /** Keeps the entry of a session that cannot be read. */
  put(id: string, entry: IndexEntry): void {
    this.#entries[id] = entry;
    this.#dirty = true;
  }

  /** Notes that a session was added, or has changed since. */
  changed(session: Session): void {
    this.#changed.add(session);
    this.#dirty = true;
  }

  /** Takes a session out. */
  remove(id: string, session: Session | undefined): void {
    if (session !== undefined) this.#changed.delete(session);
    delete this.#entries[id];
    this.#dirty = true;
  }

  /** Writes the file, and what waited for it with it. */
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

  /** Writes the file if something has changed; one that is being written is waited for. */
  async saveChanged(): Promise<void> {
    await Promise.allSettled([this.#file.settled(), this.#known.settled()]);
    if (this.#dirty || this.#saving_known !== undefined) await this.save();
  }

  /** As {@linkcode SessionIndex.save}; a failure is logged, and the next change has it written again. */
  async trySave(): Promise<void> {
    await this.save().catch((error) => this.#failed(error));
  }

  #failed(error: unknown): void {
    this.#log.error("cannot write the sessions index", { error: messageOf(error) });
  }

  /**
   * Has the file written after a flush; where that is much, not for every one. Nothing waits for it.
   *
   * @param sessions how many there are.
   */
  saveFlushed(sessions: number): void {
    if (sessions < MANY) {
      this.#save(this.#file).catch((error) => this.#failed(error));
      this.#saving_known ??= setTimeout(
        () => this.#save(this.#known).catch((error) => this.#failed(error)),
        KNOWN_MS,
      );
    } else this.#saving ??= setTimeout(() => this.trySave(), sessions * SAVE_MS_EACH);
  }

  #current(): IndexEntries {
    this.#dirty = false;
    for (const { id, state, journal } of this.#changed) {
      const { workdir, started_at, last_seq } = state;
      const { path: journal_path, size, oldest_at } = journal;
      const changed = changeOf(journal_path) ?? "";
      const known = knownOf(state, { size, changed, oldest_at });
      this.#entries[id] = { workdir, started_at, journal_path, last_seq, known };
    }
    this.#changed.clear();
    return this.#entries;
  }
}

/**
 * What tells one version of a journal from another without reading it; undefined when it is gone.
 * The time of the last change of any kind cannot be set, but is known by the second only.
 */
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

/** Whether a journal is as the index knows it: nothing was written to it since. */
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
  const busy = state.state !== "ended" && (
    state.turn !== undefined || messageWaits(state) || open || state.pending_approvals.length > 0
  );
  return {
    model: state.model,
    title: state.title,
    state: state.state,
    ended_at: state.ended_at,
    last_event_at: state.last_event_at,
    approval: state.approval,
    trust: state.trust,
    budget_usd: state.budget_usd,
    cost_usd: state.cost_usd,
    tokens_in: state.tokens_in,
    tokens_out: state.tokens_out,
    lanes: state.lanes,
    allowed: state.allowed,
    stopped: state.paused_by === "daemon_shutdown" ? true : undefined,
    busy: busy ? true : undefined,
    journal,
  };
}

/** The list item of a session that was not opened yet. */
export function itemOf(id: string, entry: IndexEntry, known: Known): SessionItem {
  const { workdir, started_at, last_seq } = entry;
  const { model, title, ended_at, last_event_at, approval, trust, budget_usd, cost_usd, lanes } =
    known;
  return {
    id,
    workdir,
    model,
    title,
    state: known.stopped ? "running" : known.state,
    activity: "idle",
    started_at,
    ended_at,
    last_seq,
    last_event_at,
    approval,
    trust,
    budget_usd,
    cost_usd,
    pending_approvals_count: 0,
    lanes,
  };
}
