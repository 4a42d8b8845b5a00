/** All sessions of a daemon: creates, finds, lists and restores them. */
import { Opener } from "../base/lazy.ts";
import { join } from "@std/path";
import { messageOf } from "../protocol/errors.ts";
import { ensurePrivateDir, removeTemporaries } from "../os/files.ts";
import { Continuations } from "./continuations.ts";
import { Housekeeping } from "./housekeeping.ts";
import type { ListChanges, SessionListChanges } from "./list_changes.ts";
import type { SessionDeleter } from "./deleter.ts";
import { Deletions } from "./deletions.ts";
import { type IndexEntries, type IndexEntry, knownPath } from "./index_file.ts";
import { completedIndex, rebuiltIndex } from "./index_repair.ts";
import { isWorkTitle } from "./ids.ts";
import { linkJournal } from "./journal_links.ts";
import { type CreateOptions, SessionMaker } from "./maker.ts";
import type { RestNote } from "./rest_note.ts";
import type { Moved, Relocation } from "./relocation.ts";
import type { SessionOpener } from "./opener.ts";
import { type Place, Places } from "./places.ts";
import { isPast } from "./retention.ts";
import type { Session, SessionParts } from "./session.ts";
import { SessionIndex } from "./session_index.ts";
import type { HourCost } from "./session_state.ts";
import type { SessionItem } from "./session_item.ts";
import { SessionTable } from "./session_table.ts";
import { Snapshots } from "./snapshots.ts";
import type { Published } from "./subscription.ts";
import type { HubParts } from "./hub_parts.ts";

/** How long the turn of a feature's session waits for the feature. */
const ADOPTED_MS = 60_000;

export class Hub {
  readonly #parts: HubParts;
  readonly #session_parts: SessionParts;
  readonly #index: SessionIndex;
  readonly #table: SessionTable;
  readonly #housekeeping: Housekeeping;
  readonly #snapshots: Snapshots;
  readonly #continuations = new Continuations();
  /** Restored sessions that their feature has not taken over yet; with a timer, it may not come. */
  readonly #unclaimed = new Map<string, number | undefined>();
  readonly #parking = new Opener(async () => {
    const { Parking, waker } = await import("./parking.ts");
    return new Parking(waker({
      findDirectory: (session) => this.findDirectory(session),
      goOn: (session) => this.#goOn(session),
      log: this.#parts.log,
    }));
  });
  readonly #temporary = new Opener(async () => {
    const { TemporarySessions } = await import("./temporary.ts");
    return new TemporarySessions({
      log: this.#parts.log,
      delete: (id) => this.delete(id),
      deleted: (id) => this.#deletions.has(id),
    });
  });
  readonly #costs = new Opener(async () => {
    const { DeletedCosts } = await import("./deleted_costs.ts");
    return new DeletedCosts(join(this.#parts.anchors, "deleted-costs.json"));
  });
  readonly #deletions: Deletions;
  readonly #maker: SessionMaker;
  readonly #places: Places;
  readonly #listed = Promise.withResolvers<void>();
  readonly #ready = Promise.withResolvers<void>();
  #restored = false;
  /** What the last clean stop noted. */
  #noted: RestNote | undefined;
  #rebuilt = false;
  #resumed: Promise<void> = Promise.resolve();
  #relocating: Promise<Relocation> | undefined;
  #opener_loading: Promise<SessionOpener> | undefined;
  #deleter_loading: Promise<SessionDeleter> | undefined;
  #stopping = false;
  /** Of the list with ended sessions, and of that without. */
  readonly #changes = new Map<boolean, SessionListChanges>();
  /** Resolves when the sessions are known and cut-off turns continue. */
  readonly ready: Promise<void> = this.#ready.promise;

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#index = new SessionIndex({
      path: parts.index_path,
      known_path: knownPath(parts.anchors),
      note_path: join(parts.anchors, "at-rest.json"),
      log: parts.log,
      complete: ({ entries, problem }) =>
        entries === undefined ? this.#rebuiltIndex(problem!) : completedIndex(entries, parts),
    });
    this.#table = new SessionTable(this.#index);
    this.#places = new Places(parts);
    this.#snapshots = new Snapshots(parts.anchors);
    this.#deletions = new Deletions(join(parts.anchors, "deleting"));
    this.#housekeeping = new Housekeeping({
      ...parts,
      sessions: () => this.#pastLimits(),
      onRested: () => this.#index.saveFlushed(this.#table.count),
    });
    this.#session_parts = {
      ...parts,
      snapshots: this.#snapshots,
      onCommit: (session, events, durable) => this.#onCommit(session, events, durable),
    };
    this.#maker = new SessionMaker({
      ...parts,
      session: this.#session_parts,
      index: this.#index,
      add: (session) => this.#table.add(session),
      drop: (id) => this.#drop(id),
    });
  }

  // ── finding ──────────────────────────────────────────────────────────────────────────────────

  /** Whether all sessions have been quiet for a while. */
  get at_rest(): boolean {
    return this.#housekeeping.at_rest;
  }

  /** Number of sessions that have not ended. */
  size(): number | Promise<number> {
    return this.#table.size ?? this.#listed.promise.then(() => this.#table.counted());
  }

  /**
   * Finds a session, and opens it if needed. If its directory was renamed, looks for it there.
   *
   * @throws {SvcError} not_found; `unavailable`, `schema_version` or `conflict` when its journal
   * cannot be read; `ended` when it has ended and its journal is gone
   */
  async get(id: string): Promise<Session> {
    await this.ready;
    const session = await (await this.#opener()).get(id);
    await this.findDirectory(session);
    return session;
  }

  /** Follows a renamed directory. @returns why the session cannot work, if its directory is gone */
  async findDirectory(session: Session): Promise<string | undefined> {
    if (!session.in_place) return await (await this.#relocation()).relocate(session);
  }

  /** The session with that id, or all readable ones, oldest first. @throws {SvcError} as `get` */
  async some(id: string | undefined): Promise<Session[]> {
    if (id !== undefined) return [await this.get(id)];
    await this.ready;
    await (await this.#opener()).openAll([...this.#table.dormant]);
    return this.#table.oldestFirst();
  }

  /** Total cost of all sessions. */
  async spent(): Promise<{ usd: number; tokens_in: number; tokens_out: number }> {
    await this.ready;
    return this.#table.spent(await this.deletedCosts());
  }

  /** Costs of temporary sessions that are deleted. */
  async deletedCosts(): Promise<readonly HourCost[]> {
    return await (await this.#costs.get()).read();
  }

  /** The sessions, oldest first. Returns the same array until something changes. */
  list(include_ended: boolean): readonly SessionItem[] | Promise<readonly SessionItem[]> {
    // Clients poll it.
    const known = include_ended ? undefined : this.#table.list;
    return known ?? this.#listWhenReady(include_ended);
  }

  /** What of the list has changed since an earlier answer, which its tag names. */
  async listChanges(include_ended: boolean, tag: string): Promise<ListChanges> {
    const { SessionListChanges } = await import("./list_changes.ts");
    const items = await this.list(include_ended);
    let changes = this.#changes.get(include_ended);
    if (changes === undefined) this.#changes.set(include_ended, changes = new SessionListChanges());
    return changes.since(items, tag);
  }

  async #listWhenReady(include_ended: boolean): Promise<readonly SessionItem[]> {
    await this.ready;
    await (await this.#opener()).check();
    await (await this.#opener()).retryUnreadable();
    return this.#table.items(include_ended);
  }

  item(session: Session): SessionItem {
    return this.#table.item(session);
  }

  /** See {@linkcode SessionTable.workdirs}. */
  workdirs(): string[] {
    return [...new Set([...this.#maker.workdirs, ...this.#table.workdirs()])];
  }

  /** Directories besides workdirs that sessions can write. */
  addedWritable(): string[] {
    return [...new Set(this.#table.addedWritable())];
  }

  /** Paths to hide from tools that work in a directory: those in it, or in others they see. */
  hiddenFrom(workdir: string): string[] {
    return this.#places.hiddenFrom(workdir, this.#allPlaces());
  }

  /** Workdirs of open sessions in a directory, and the paths hidden from their tools. */
  placesIn(directory: string): { workdirs: string[]; hidden: string[] } {
    return this.#places.within(directory, this.#allPlaces());
  }

  *#allPlaces(): Generator<Partial<Place>> {
    for (const workdir of this.#maker.workdirs) yield this.#places.making(workdir);
    yield* this.#table.places(this.#places);
  }

  /** Paths of the journals by session id. */
  async journals(): Promise<Map<string, string>> {
    await this.ready;
    return this.#table.journals();
  }

  // ── directories that were moved ──────────────────────────────────────────────────────────────

  #relocation(): Promise<Relocation> {
    return this.#relocating ??= import("./relocation.ts").then(({ Relocation }) =>
      new Relocation({
        ...this.#parts,
        placed: () => this.#table.placed(),
        anchorPath: (id) => this.anchorPath(id),
        linkPath: (id) => join(this.#parts.journal_links, id),
        get: (id) => this.get(id),
        openAt: async (id, found) =>
          await (await this.#opener()).openAt(id, found) ?? await this.get(id),
      })
    );
  }

  /** Continues the sessions whose renamed directory is at that path now. */
  async lookIn(directory: string): Promise<void> {
    await this.ready;
    await (await this.#relocation()).lookIn(directory);
  }

  /** See {@linkcode Relocation.move}. */
  async move(id: string, directory: string, by: string): Promise<Moved> {
    await this.ready;
    return await (await this.#relocation()).move(id, directory, by);
  }

  anchorPath(id: string): string {
    return this.#housekeeping.anchorPath(id);
  }

  // ── making and ending ────────────────────────────────────────────────────────────────────────

  /**
   * Creates a session; its journal and index entry are on the disk when it resolves.
   *
   * @throws {SvcError} validation for an unusable workdir
   */
  async create(options: CreateOptions): Promise<Session> {
    await this.ready;
    const session = await this.#maker.make(options);
    this.#watchTemporary(session, false);
    return session;
  }

  #watchTemporary(session: Session, restored: boolean): void {
    if (session.state.temporary) {
      void this.#temporary.get().then((it) => it.add(session, restored));
    }
  }

  #drop(id: string): void {
    const session = this.#table.remove(id);
    if (session === undefined) return;
    this.#housekeeping.forget(session);
    session.journal.release();
  }

  /**
   * Ends a session for good. An unreadable one leaves the lists; its journal stays untouched.
   *
   * @throws {SvcError} not_found or `ended`
   */
  async kill(id: string, reason: "killed" | "completed" = "killed"): Promise<void> {
    await this.ready;
    let session: Session;
    try {
      session = await this.get(id);
    } catch (error) {
      if (!this.#table.unreadable.has(id)) throw error;
      return await this.#forget([id]);
    }
    await session.kill(reason);
    this.#parts.onEnded(session);
    await this.#index.save();
  }

  /** Removes ended sessions from the lists whose journals were in a directory that is gone. */
  async forgetWithin(dir: string): Promise<void> {
    await this.ready;
    const ids = this.#table.endedWithin(dir);
    if (ids.length > 0) await this.#forget(ids);
  }

  async #forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      this.#table.unreadable.delete(id);
      this.#drop(id);
      for (const path of [join(this.#parts.journal_links, id), this.anchorPath(id)]) {
        await Deno.remove(path).catch(ifMissing);
      }
      await this.#snapshots.remove(id);
    }
    await this.#index.save();
  }

  /**
   * Deletes a session and all its files, ending it first. After a kill it is whole, or gone at the
   * next start.
   *
   * @throws {SvcError} not_found; conflict for a session that works for a task or mission;
   * permission_denied for a directory that is not svc's; `internal` when something could not be
   * removed, which the next start retries
   */
  async delete(id: string): Promise<void> {
    await this.ready;
    await (await this.#deleter()).delete(id);
  }

  #opener(): Promise<SessionOpener> {
    return this.#opener_loading ??= import("./opener.ts").then(({ SessionOpener }) =>
      new SessionOpener({
        ...this.#parts,
        table: this.#table,
        index: this.#index,
        deletions: this.#deletions,
        session: this.#session_parts,
        snapshots: this.#snapshots,
        anchorPath: (id) => this.anchorPath(id),
        relocation: () => this.#relocation(),
        onOpened: (session, moved) => this.#onOpened(session, moved),
      })
    );
  }

  #deleter(): Promise<SessionDeleter> {
    return this.#deleter_loading ??= import("./deleter.ts").then(({ SessionDeleter }) =>
      new SessionDeleter({
        ...this.#parts,
        deletions: this.#deletions,
        costs: () => this.#costs.get(),
        index: this.#index,
        housekeeping: this.#housekeeping,
        get: (id) => this.get(id),
        journalPath: (id) => this.#table.journalPath(id),
        forget: (id) => this.#forget([id]),
      })
    );
  }

  /**
   * Saves {@linkcode Session.configuring} in the index, so the journal does not look changed if
   * the daemon dies while it is recorded.
   *
   * @throws the system's error
   */
  saveConfiguring(session: Session): Promise<void> {
    return this.#index.saveConfiguring(session);
  }

  /** Leaves the turns of sessions to the feature that takes them over, however late. */
  hold(ids: Iterable<string>): void {
    for (const id of ids) {
      this.claim(id);
      this.#unclaimed.set(id, undefined);
    }
  }

  /** Call when a feature takes a session over. */
  claim(id: string): void {
    clearTimeout(this.#unclaimed.get(id));
    this.#unclaimed.delete(id);
  }

  /** The turn of a feature's session waits for the feature; one that nobody takes over goes on. */
  #waitForFeature(session: Session): void {
    const { id, state } = session;
    if (!isWorkTitle(state.title) || this.#unclaimed.has(id)) return;
    const timer = setTimeout(() => {
      this.#unclaimed.delete(id);
      if (!this.#stopping && session.waitsToGoOn) this.#continuations.add(session);
    }, ADOPTED_MS);
    Deno.unrefTimer(timer);
    this.#unclaimed.set(id, timer);
  }

  #goOn(session: Session): void {
    if (!this.#unclaimed.has(session.id)) this.#continuations.add(session);
  }

  // ── stopping and coming back ─────────────────────────────────────────────────────────────────

  /**
   * Pauses active and watched sessions before the daemon stops, and flushes everything.
   *
   * @param grace_ms time for turns to reach a safe point
   * @param finished when the features have ended their work; their sessions run until then
   */
  async stop(grace_ms: number, finished = Promise.resolve()): Promise<void> {
    await this.ready;
    this.#stopping = true;
    this.#continuations.stop();
    void this.#parking.opened?.then((it) => it.stop());
    void this.#temporary.opened?.then((it) => it.stop());
    this.#housekeeping.stop();
    await Promise.allSettled([this.#resumed, this.#opener_loading?.then((it) => it.idle())]);
    const { pauseAll } = await import("./pause_all.ts");
    await pauseAll({
      log: this.#parts.log,
      grace_ms,
      finished,
      busy: () =>
        [...this.#table.open.values()]
          .filter((session) => session.watched || this.#housekeeping.isAwake(session)),
      end: async (session) => {
        await session.release();
        await this.#housekeeping.anchorAwake(session);
      },
    });
    await this.#index.saveChanged();
    await this.#index.writeNote(() => this.size());
  }

  /** Finds the sessions of the index; {@linkcode Hub.ready} resolves then. */
  restore(): Promise<void> {
    this.#restore().then(this.#ready.resolve, (error) => {
      this.#listed.reject(error);
      this.#ready.reject(error);
    });
    this.#listed.promise.catch(() => {});
    return this.ready;
  }

  /** Continues cut-off turns from now on, a few at a time. */
  continueTurns(): void {
    if (!this.#stopping) this.#continuations.start();
  }

  async #restore(): Promise<void> {
    ensurePrivateDir(this.#parts.journal_links);
    ensurePrivateDir(this.#parts.anchors);
    removeTemporaries(this.#parts.home);
    const note = this.#index.readNote();
    const deleted = this.#deletions.left();
    const begun = await this.#maker.settleBegun(this.#deletions, deleted);
    if (deleted.size > 0) {
      await (await this.#deleter()).continue(deleted, {
        ready: this.ready,
        drop: (id) => this.#drop(id),
      });
    }
    const stopped = note === undefined || deleted.size > 0 || begun > 0
      ? await this.#restoreAll()
      : await this.#restoreNoted(note);
    this.#restored = true;
    for (const session of this.#table.open.values()) session.takeUp();
    // The sessions are usable without it.
    if (this.#rebuilt) await this.#index.trySave();
    this.#housekeeping.start();
    this.#resumed = this.#resumeStopped(stopped);
  }

  /** After a clean stop the index is read lazily. @returns the sessions that the stop paused */
  async #restoreNoted(note: RestNote): Promise<[string, IndexEntry][]> {
    this.#table.size = note.open;
    this.#noted = note;
    this.#listed.resolve();
    const wake = Object.entries(note.wake);
    if (wake.length > 0) await (await this.#opener()).openChanged(wake);
    return wake.filter(([id, { known }]) => known?.stopped && !this.#table.open.has(id));
  }

  /** After a crash a journal may have more than the index knows. As `#restoreNoted`. */
  async #restoreAll(): Promise<[string, IndexEntry][]> {
    removeTemporaries(this.#parts.anchors);
    await this.#index.leaveNote();
    this.#table.forgetDerived();
    this.#listed.resolve();
    await (await this.#opener()).check();
    return [...this.#table.dormant].filter(([, { known }]) => known?.stopped);
  }

  /** Resumes the sessions that a stop paused. They rest at once: nothing else happened in them. */
  async #resumeStopped(stopped: readonly [string, IndexEntry][]): Promise<void> {
    if (stopped.length === 0) return;
    const onOpened = (session: Session) => {
      if (!session.watched) this.#housekeeping.forget(session);
    };
    await (await this.#opener()).openWhile(() => !this.#stopping, stopped, onOpened);
    this.#index.saveFlushed(this.#table.count);
  }

  /** Sessions whose journals are past their limits, as far as known. */
  async *#pastLimits(): AsyncGenerator<Session> {
    const limits = this.#parts.retention();
    // Until the index is read, the note knows the largest and the oldest journal.
    if (this.#table.complete || this.#noted === undefined || isPast(this.#noted, limits)) {
      await (await this.#opener()).openAll(
        [...this.#table.dormant].filter(([, { known }]) => known && isPast(known.journal, limits)),
      );
    }
    yield* this.#table.oldestFirst();
  }

  #rebuiltIndex(problem: string): IndexEntries {
    this.#rebuilt = true;
    return rebuiltIndex(problem, this.#parts);
  }

  #onOpened(session: Session, moved: boolean): void {
    this.#watchTemporary(session, true);
    if (moved) this.#parts.onMoved?.(session.id);
    if (session.waitsToGoOn) this.#waitForFeature(session);
    if (session.parked !== undefined) void this.#parking.get().then((it) => it.add(session));
    else if (session.waitsToGoOn) this.#goOn(session);
    if (this.#restored) session.takeUp();
  }

  /** Updates everything that depends on a session's directory. */
  #moved(session: Session): void {
    this.#places.forget(session);
    try {
      linkJournal(session.journal.path, join(this.#parts.journal_links, session.id));
    } catch (error) {
      this.#parts.log.warn("cannot link a session's journal", {
        session_id: session.id,
        error: messageOf(error),
      });
    }
    void this.#index.trySave();
    this.#parts.onMoved?.(session.id);
  }

  #onCommit(session: Session, events: readonly Published[], durable: boolean): void {
    if (events.length > 0) this.#parts.onEvents?.(session, events);
    this.#table.changed(session);
    this.#housekeeping.committed(session, durable);
    this.#continuations.committed(session);
    if (this.#parking.opened !== undefined || session.state.turn?.parked !== undefined) {
      void this.#parking.get().then((it) => it.committed(session, events));
    }
    // Sessions in the making, or removed, are not in the index.
    if (!this.#table.open.has(session.id)) return;
    this.#index.changed(session);
    if (events.some(({ type }) => type === "session.moved")) this.#moved(session);
    const ruled = events.some(({ type, data }) =>
      type === "approval.resolved" && data.decision === "allow_always" &&
      data.always === undefined
    );
    if (ruled) void this.#index.trySave();
    else if (durable) this.#index.saveFlushed(this.#table.count);
  }
}

function ifMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
