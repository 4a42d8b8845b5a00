/** All sessions: open, dormant (known from the index only) and unreadable. */
import { holdsSystem, isWithin } from "../os/paths.ts";
import type { IndexEntry, Known } from "./index_file.ts";
import type { Place, Places } from "./places.ts";
import type { Placed } from "./relocation.ts";
import type { Session } from "./session.ts";
import type { HourCost } from "./session_state.ts";
import { itemOf, type SessionIndex } from "./session_index.ts";
import { type SessionItem, toItem } from "./session_item.ts";
import type { Unreadable } from "./unreadable.ts";

export class SessionTable {
  readonly #index: SessionIndex;
  /** Sessions created or used since the start. */
  readonly open = new Map<string, Session>();
  readonly unreadable = new Map<string, Unreadable>();
  /** See {@linkcode SessionTable.dormant}; read lazily. */
  #dormant: Map<string, IndexEntry> | undefined;
  #list: SessionItem[] | undefined;
  #items = new Map<Session, SessionItem>();
  /** Number of open sessions, if known. */
  size: number | undefined;

  constructor(index: SessionIndex) {
    this.#index = index;
  }

  /** Sessions of the index that were not used since the start. Reads the index at the first use. */
  get dormant(): Map<string, IndexEntry> {
    if (this.#dormant === undefined) {
      const entries = Object.entries(this.#index.entries);
      this.#dormant = new Map(
        entries.filter(([id]) => !this.open.has(id) && !this.unreadable.has(id)),
      );
    }
    return this.#dormant;
  }

  /** Whether the index was read. */
  get complete(): boolean {
    return this.#dormant !== undefined;
  }

  get count(): number {
    return this.open.size + this.dormant.size + this.unreadable.size;
  }

  /** Number of sessions that have not ended. */
  counted(): number {
    if (this.size === undefined) {
      const open = this.open.values().filter((session) => !session.final);
      const dormant = this.dormant.values().filter(({ known }) => known?.state !== "ended");
      this.size = this.unreadable.size + open.toArray().length + dormant.toArray().length;
    }
    return this.size;
  }

  add(session: Session): void {
    this.#dormant?.delete(session.id);
    this.unreadable.delete(session.id);
    this.open.set(session.id, session);
    this.#index.changed(session);
    this.forgetDerived();
  }

  addUnreadable(id: string, entry: IndexEntry, kept: Unreadable): void {
    this.#dormant?.delete(id);
    this.unreadable.set(id, kept);
    this.#index.put(id, entry);
    this.forgetDerived();
  }

  /** Removes a session, unless it is unreadable. @returns it, if it was open */
  remove(id: string): Session | undefined {
    const session = this.open.get(id);
    if (session !== undefined) this.#items.delete(session);
    this.open.delete(id);
    this.dormant.delete(id);
    this.#index.remove(id, session);
    this.forgetDerived();
    return session;
  }

  /** Call when a session changes. */
  changed(session: Session): void {
    this.#items.delete(session);
    this.forgetDerived();
  }

  /** Drops cached lists and counts. */
  forgetDerived(): void {
    this.#list = undefined;
    this.size = undefined;
  }

  oldestFirst(): Session[] {
    return [...this.open.values()].sort((a, b) => a.id < b.id ? -1 : 1);
  }

  /** The cached list of open sessions, if current. */
  get list(): readonly SessionItem[] | undefined {
    return this.unreadable.size > 0 ? undefined : this.#list;
  }

  /** Sessions, oldest first. */
  items(include_ended: boolean): readonly SessionItem[] {
    if (include_ended) return this.#allItems();
    return this.#list ??= this.#allItems().filter((item) => item.state !== "ended");
  }

  #allItems(): SessionItem[] {
    const items = [...this.open.values()].map((session) => this.item(session));
    for (const [id, entry] of this.dormant) {
      if (entry.known !== undefined) items.push(itemOf(id, entry, entry.known));
    }
    for (const { item } of this.unreadable.values()) items.push(item);
    return items.sort((a, b) => a.id < b.id ? -1 : 1);
  }

  item(session: Session): SessionItem {
    let item = this.#items.get(session);
    if (item === undefined) {
      const { state, activity } = session;
      const parked_until = session.parked?.until;
      item = toItem({ ...state, activity, parked_until }, state.pending_approvals.length);
      this.#items.set(session, item);
    }
    return item;
  }

  /** Total cost of all sessions. @param others costs of others */
  spent(others: readonly HourCost[]): { usd: number; tokens_in: number; tokens_out: number } {
    const total = { usd: 0, tokens_in: 0, tokens_out: 0 };
    const add = (of: Pick<Known, "cost_usd" | "tokens_in" | "tokens_out">) => {
      total.usd += of.cost_usd;
      total.tokens_in += of.tokens_in;
      total.tokens_out += of.tokens_out;
    };
    for (const { state } of this.open.values()) add(state);
    for (const { known } of this.dormant.values()) if (known !== undefined) add(known);
    for (const { usd: cost_usd, ...tokens } of others) add({ cost_usd, ...tokens });
    return total;
  }

  /**
   * Workdirs of all sessions; ended ones may have left files. Leaves out an ended one in `/`: it
   * contains everything, and svc would run no program of the system.
   */
  workdirs(): string[] {
    const counts = (workdir: string, ended: boolean) => !ended || !holdsSystem(workdir);
    const dormant = [...this.dormant.values()]
      .filter(({ workdir, known }) => counts(workdir, known?.state === "ended"))
      .map(({ workdir }) => workdir);
    const open = [...this.open.values()]
      .filter(({ state, final }) => counts(state.workdir, final))
      .map(({ state }) => state.workdir);
    return [...open, ...dormant];
  }

  /** Directories that were added to sessions for writing. */
  addedWritable(): string[] {
    const rights = [
      ...[...this.open.values()].map(({ state }) => state),
      ...[...this.dormant.values()].map(({ known }) => known),
    ];
    return rights.flatMap((it) => it?.added_dirs ?? [])
      .filter(({ access }) => access === "write").map(({ path }) => path);
  }

  *places(places: Places): Generator<Partial<Place>> {
    for (const session of this.open.values()) {
      yield places.of(session, session.journal.path, session.state.workdir, session.final);
    }
    for (const entry of this.dormant.values()) {
      const ended = entry.known?.state === "ended";
      yield places.of(entry, entry.journal_path, entry.workdir, ended);
    }
    for (const { entry } of this.unreadable.values()) yield places.unreadable(entry.journal_path);
  }

  *placed(): Generator<Placed> {
    for (const { id, state, journal, final: ended } of this.open.values()) {
      yield { ...state, id, journal_path: journal.path, ended };
    }
    const lost = [...this.unreadable].map(([id, { entry }]) => [id, entry] as const);
    for (const [id, { known, ...entry }] of [...this.dormant, ...lost]) {
      const { directory, title = "", trust = "trusted", state } = known ?? {};
      yield { ...entry, id, directory, title, trust, ended: state === "ended" };
    }
  }

  /** Paths of the journals by session id. */
  journals(): Map<string, string> {
    const paths = new Map<string, string>();
    for (const [id, { journal }] of this.open) paths.set(id, journal.path);
    for (const [id, { journal_path }] of this.dormant) paths.set(id, journal_path);
    for (const [id, { entry }] of this.unreadable) paths.set(id, entry.journal_path);
    return paths;
  }

  journalPath(id: string): string | undefined {
    return this.open.get(id)?.journal.path ?? this.dormant.get(id)?.journal_path ??
      this.unreadable.get(id)?.entry.journal_path;
  }

  /** Ended sessions whose journals are in a directory. */
  endedWithin(dir: string): string[] {
    const ids = [...this.open.values()]
      .filter((session) => session.final && isWithin(session.journal.path, dir))
      .map((session) => session.id);
    for (const [id, { journal_path, known }] of this.dormant) {
      if (known?.state === "ended" && isWithin(journal_path, dir)) ids.push(id);
    }
    return ids;
  }
}
