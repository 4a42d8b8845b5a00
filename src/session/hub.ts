/** All sessions of a daemon: made, found, listed, brought back after a restart. */
import { basename, join } from "@std/path";
import { messageOf, SvcError } from "../platform/errors.ts";
import { ensurePrivateDir, linkIfAllowed, removeTemporaries } from "../platform/files.ts";
import type { Log } from "../platform/log.ts";
import { isWithin } from "../platform/paths.ts";
import { type Approval, MAIN_LANE, type Trust } from "./events.ts";
import { Housekeeping } from "./housekeeping.ts";
import type { Ids } from "./ids.ts";
import { type IndexEntries, type IndexEntry, MISSING } from "./index_file.ts";
import { Journal } from "./journal.ts";
import { findJournals, restoreSession } from "./restore.ts";
import type { Retention } from "./retention.ts";
import { Session, type SessionParts } from "./session.ts";
import { SessionIndex } from "./session_index.ts";
import { type SessionItem, toItem } from "./session_item.ts";
import { emptyState } from "./state.ts";
import type { Published } from "./subscription.ts";
import { type Unreadable, unreadable, unreadableError } from "./unreadable.ts";
import { checkWorkdir, makeSessionDir } from "./workdir.ts";

export interface CreateOptions {
  workdir: string;
  model: string;
  title?: string;
  approval: Approval;
  budget_usd?: number;
  /** Default trusted; who starts a session for another hands its own down. */
  trust?: Trust;
  /** The directory whose `.svc` keeps the journal, for a workdir that will be removed. */
  journal_root?: string;
}

export interface HubParts {
  home: string;
  index_path: string;
  /** Where ledger anchors are kept, a file a session. */
  anchors: string;
  journal_links: string;
  version: string;
  ids: Ids;
  log: Log;
  runTurn: SessionParts["runTurn"];
  retention(): Retention;
  /** Told what was committed, once it is in the session's journal; must neither wait nor throw. */
  onEvents?(session: Session, events: readonly Published[]): void;
  /** Called when a session is gone, so that its tools' processes and workers go too. */
  onEnded(session: Session): void;
  /** Called when the last busy session has come to rest. */
  onRest(): void;
}

export class Hub {
  readonly #parts: HubParts;
  readonly #session_parts: SessionParts;
  readonly #index: SessionIndex;
  readonly #housekeeping: Housekeeping;
  #sessions = new Map<string, Session>();
  #unreadable = new Map<string, Unreadable>();
  #list: SessionItem[] | undefined;
  #size: number | undefined;
  #items = new Map<Session, SessionItem>();
  /** Resolves when all sessions of the index are back. */
  ready: Promise<void> = Promise.resolve();

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#index = new SessionIndex({ path: parts.index_path, log: parts.log });
    this.#housekeeping = new Housekeeping({
      ...parts,
      sessions: () => this.#sessions.values(),
    });
    this.#session_parts = {
      ids: parts.ids,
      log: parts.log,
      runTurn: parts.runTurn,
      onCommit: (session, events, durable) => this.#onCommit(session, events, durable),
    };
  }

  // ── finding ──────────────────────────────────────────────────────────────────────────────────

  /** Whether no session has done anything for a while. */
  get at_rest(): boolean {
    return this.#housekeeping.at_rest;
  }

  /** Number of sessions that have not ended. */
  get size(): number {
    if (this.#size === undefined) {
      const open = this.#sessions.values().filter((session) => !session.final);
      this.#size = this.#unreadable.size + open.toArray().length;
    }
    return this.#size;
  }

  /** Forgets what was derived from the sessions: one was added, removed or changed. */
  #forgetDerived(): void {
    this.#list = undefined;
    this.#size = undefined;
  }

  /**
   * Finds a session.
   *
   * @throws {SvcError} not_found; `schema_version` or `internal` when its journal cannot be read.
   */
  async get(id: string): Promise<Session> {
    await this.ready;
    const session = this.#sessions.get(id);
    if (session !== undefined) return session;
    const unreadable = this.#unreadable.get(id);
    if (unreadable !== undefined) throw unreadableError(unreadable);
    throw new SvcError("not_found", `there is no session ${JSON.stringify(id)}`, {
      hint: "`svc ctl sessions list` shows the sessions",
    });
  }

  /** The session of that id, or without one all that can be read. @throws {SvcError} as `get`. */
  async some(id: string | undefined): Promise<Session[]> {
    if (id !== undefined) return [await this.get(id)];
    await this.ready;
    return [...this.#sessions.values()];
  }

  /** The sessions, oldest first. The same array is returned until something changes. */
  async list(include_ended: boolean): Promise<readonly SessionItem[]> {
    await this.ready;
    if (include_ended) return this.#allItems();
    return this.#list ??= this.#allItems().filter((item) => item.state !== "ended");
  }

  #allItems(): SessionItem[] {
    const items = [...this.#sessions.values()].map((session) => this.item(session));
    for (const { item } of this.#unreadable.values()) items.push(item);
    return items.sort((a, b) => a.id < b.id ? -1 : 1);
  }

  /** A session's list item. */
  item(session: Session): SessionItem {
    let item = this.#items.get(session);
    if (item === undefined) this.#items.set(session, item = toItem(session.state));
    return item;
  }

  /** Paths that tools must not see which work in a directory (architecture: neither jail sees them). */
  hiddenFrom(workdir: string): string[] {
    const hidden = new Set([this.#parts.home, join(workdir, ".svc")]);
    for (const session of this.#sessions.values()) {
      // An ended session's directory is free again, its journal is not.
      hidden.add(ownDir(session.journal.path));
      const { workdir: theirs } = session.state;
      if (!session.final && theirs !== workdir) hidden.add(theirs);
    }
    for (const { journal_path } of this.#unreadable.values()) hidden.add(ownDir(journal_path));
    return [...hidden];
  }

  /** The file of a session's ledger anchor. */
  anchorPath(id: string): string {
    return this.#housekeeping.anchorPath(id);
  }

  // ── making and ending ────────────────────────────────────────────────────────────────────────

  /**
   * Makes a session: its journal and its place in the index are on the disk when it resolves.
   *
   * @throws {SvcError} validation when the workdir will not do.
   */
  async create(options: CreateOptions): Promise<Session> {
    await this.ready;
    const { ids, home, journal_links } = this.#parts;
    const { journal_root, ...told } = options;
    const workdir = await checkWorkdir(options.workdir, home);
    const id = ids.next("sess");
    const dir = makeSessionDir(journal_root ?? workdir, id);
    const journal_path = join(dir, "journal.ndjson");
    const link = join(journal_links, id);
    try {
      const journal = Journal.create(journal_path);
      const session = new Session(emptyState(id), journal, this.#session_parts);
      const title = options.title ?? (basename(workdir) || workdir);
      const created = session.emit("session.created", { ...told, workdir, title });
      const main = session.emit("lane.created", {
        lane_id: MAIN_LANE,
        kind: "main",
        label: title,
        started_at: new Date().toISOString(),
      });
      await Promise.all([created, main]);
      linkIfAllowed(journal_path, link);
      this.#add(session);
      await Promise.all([journal.flush(), this.#index.save()]);
      return session;
    } catch (cause) {
      await this.#discard(id, dir, link);
      if (cause instanceof SvcError) throw cause;
      throw new SvcError("internal", `the session cannot be recorded: ${messageOf(cause)}`, {
        hint: `free disk space or mend ${home} and ${dir}; nothing was started`,
        cause,
      });
    }
  }

  /** Takes back what was made of a session that could not be recorded. */
  async #discard(id: string, dir: string, link: string): Promise<void> {
    this.#drop(id);
    await Deno.remove(link).catch(() => {});
    await Deno.remove(dir, { recursive: true }).catch(() => {});
  }

  /** Forgets a session, in memory. */
  #drop(id: string): void {
    const session = this.#sessions.get(id);
    if (session !== undefined) {
      this.#housekeeping.forget(session);
      this.#items.delete(session);
      session.journal.release();
    }
    this.#sessions.delete(id);
    this.#index.remove(id, session);
    this.#forgetDerived();
  }

  /**
   * Ends a session for good. One that cannot be read is taken out of the lists; its journal stays
   * where and as it is.
   *
   * @throws {SvcError} not_found or `ended`.
   */
  async kill(id: string, reason: "killed" | "completed" = "killed"): Promise<void> {
    await this.ready;
    if (this.#unreadable.has(id)) return await this.#forget([id]);
    const session = await this.get(id);
    await session.kill(reason);
    this.#parts.onEnded(session);
    await this.#index.save();
  }

  /** Takes sessions that have ended out of the lists whose journals lay in a directory now gone. */
  async forgetWithin(dir: string): Promise<void> {
    await this.ready;
    const ids = [...this.#sessions.values()]
      .filter((session) => session.final && isWithin(session.journal.path, dir))
      .map((session) => session.id);
    if (ids.length > 0) await this.#forget(ids);
  }

  async #forget(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      this.#unreadable.delete(id);
      this.#drop(id);
      for (const path of [join(this.#parts.journal_links, id), this.anchorPath(id)]) {
        await Deno.remove(path).catch(ifMissing);
      }
    }
    await this.#index.save();
  }

  // ── stopping and coming back ─────────────────────────────────────────────────────────────────

  /**
   * Pauses every running session for a stop of the daemon and flushes everything.
   *
   * @param grace_ms time for turns to reach a safe point.
   */
  async stop(grace_ms: number): Promise<void> {
    await this.ready;
    this.#housekeeping.stop();
    await Promise.all([...this.#sessions.values()].map(async (session) => {
      try {
        if (session.state.state === "running") await session.pause("daemon_shutdown", grace_ms);
      } catch (error) {
        this.#parts.log.error("a session could not be paused", {
          session_id: session.id,
          error: messageOf(error),
        });
      }
      await session.release();
      await this.#housekeeping.anchorAwake(session);
    }));
    await this.#index.save();
  }

  /** Brings the sessions of the index back; {@linkcode Hub.ready} resolves when they are there. */
  restore(): Promise<void> {
    return this.ready = this.#restore();
  }

  async #restore(): Promise<void> {
    ensurePrivateDir(this.#parts.journal_links);
    ensurePrivateDir(this.#parts.anchors);
    for (const dir of [this.#parts.home, this.#parts.anchors]) removeTemporaries(dir);
    const { entries, problem } = await this.#index.read();
    const found = entries ?? this.#rebuiltIndex(problem!);
    for (const [id, entry] of Object.entries(found)) {
      await this.#restoreOne(id, entry);
    }
    // The sessions are there without it: nobody is kept from them.
    if (entries === undefined) await this.#index.trySave();
    this.#housekeeping.start();
  }

  async #restoreOne(id: string, entry: IndexEntry): Promise<void> {
    const { log, version } = this.#parts;
    const { journal_path, workdir, started_at } = entry;
    const state = emptyState(id);
    try {
      const parts = { session: this.#session_parts, log, version };
      this.#add(await restoreSession(state, journal_path, parts));
    } catch (error) {
      const kept = unreadable({ ...state, workdir, started_at }, journal_path, error);
      const { reason } = kept.item;
      log.error("a session is unreadable", { session_id: id, path: journal_path, reason });
      this.#unreadable.set(id, kept);
      this.#index.put(id, { workdir, started_at, journal_path, last_seq: state.last_seq });
      this.#forgetDerived();
    }
  }

  #add(session: Session): void {
    this.#sessions.set(session.id, session);
    this.#index.changed(session);
    this.#forgetDerived();
  }

  /** The index as the journals that are found make it. */
  #rebuiltIndex(problem: string): IndexEntries {
    const { journal_links, index_path, log } = this.#parts;
    const entries = findJournals(journal_links);
    const sessions = Object.keys(entries).length;
    if (sessions > 0 || problem !== MISSING) {
      log.warn(`the sessions index ${problem}; rebuilt from the journals found`, {
        path: index_path,
        sessions,
      });
    }
    return entries;
  }

  #onCommit(session: Session, events: readonly Published[], durable: boolean): void {
    this.#parts.onEvents?.(session, events);
    this.#items.delete(session);
    this.#forgetDerived();
    this.#housekeeping.committed(session, durable);
    // One that is being made, or was taken out, is not in the index.
    if (!this.#sessions.has(session.id)) return;
    this.#index.changed(session);
    if (durable) this.#index.saveFlushed(this.#sessions.size);
  }
}

/** The `.svc` that a session's journal is in. */
function ownDir(journal_path: string): string {
  return join(journal_path, "..", "..", "..");
}

function ifMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
