/** All sessions of a daemon: made, found, listed, brought back after a restart. */
import { basename, join } from "@std/path";
import { messageOf, SvcError } from "../platform/errors.ts";
import { ensurePrivateDir, linkIfAllowed, removeTemporaries } from "../platform/files.ts";
import type { Log } from "../platform/log.ts";
import { isWithin } from "../platform/paths.ts";
import type { Approval, Trust } from "./events.ts";
import { MAIN_LANE } from "./events.ts";
import type { Ids } from "./ids.ts";
import { type IndexEntries, IndexFile, MISSING } from "./index_file.ts";
import { Journal } from "./journal.ts";
import { readAnchor, writeAnchor } from "./ledger.ts";
import { needsRetention, type Retention } from "./retention.ts";
import { Session, type SessionParts } from "./session.ts";
import { applyToState, emptyState, type Lane, type SessionState } from "./state.ts";
import type { Published } from "./subscription.ts";
import { checkJournalPrivate, checkWorkdir, makeSessionDir } from "./workdir.ts";

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

/** A session as lists show it (contract.md section 5). */
export interface SessionItem {
  id: string;
  workdir: string;
  model: string;
  title: string;
  state: SessionState["state"] | "unreadable";
  activity: SessionState["activity"];
  started_at: string;
  ended_at?: string;
  last_seq: number;
  last_event_at: string;
  approval: Approval;
  trust: Trust;
  budget_usd?: number;
  cost_usd: number;
  pending_approvals: number;
  lanes: Lane[];
  /** Why it is unreadable. */
  reason?: string;
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

/** A session whose journal cannot be read: kept, listed, its file untouched. */
interface Unreadable {
  item: SessionItem;
  journal_path: string;
}

/** How long a session must have been quiet before it gives back its memory and files. */
const REST_MS = 5_000;
/** From so many sessions on the index is a large file. */
const MANY = 1_000;
/** How long it may then lag behind a flush; it never does behind a session's start and end. */
const SAVE_MS = 250;
/** How often journals are looked at for their age. */
const RETENTION_EVERY_MS = 15 * 60_000;

export class Hub {
  readonly #parts: HubParts;
  readonly #session_parts: SessionParts;
  readonly #index: IndexFile;
  #sessions = new Map<string, Session>();
  #unreadable = new Map<string, Unreadable>();
  /** Sessions that may hold what {@linkcode Session.rest} gives back. */
  #awake = new Set<Session>();
  #resting: number | undefined;
  #saving: number | undefined;
  #retaining: number | undefined;
  #list: SessionItem[] | undefined;
  #size: number | undefined;
  #items = new Map<Session, SessionItem>();
  /** What the index says of the sessions; those of {@linkcode Hub.#changed} are out of date. */
  #indexed: IndexEntries = {};
  #changed = new Set<Session>();
  /** Resolves when all sessions of the index are back. */
  ready: Promise<void> = Promise.resolve();

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#index = new IndexFile(parts.index_path, () => this.#entries());
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
    return this.#awake.size === 0;
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
    if (unreadable !== undefined) {
      const { reason = "" } = unreadable.item;
      throw new SvcError(
        reason.includes("schema version") ? "schema_version" : "internal",
        `session ${id} is unreadable: ${reason}`,
        {
          hint: `its journal is kept as it is: ${unreadable.journal_path}; ` +
            "session.kill takes the session out of the list",
        },
      );
    }
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
      await Promise.all([journal.flush(), this.#save()]);
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
      this.#awake.delete(session);
      this.#changed.delete(session);
      this.#items.delete(session);
      session.journal.release();
    }
    this.#sessions.delete(id);
    delete this.#indexed[id];
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
    await this.#save();
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
    await this.#save();
  }

  // ── stopping and coming back ─────────────────────────────────────────────────────────────────

  /**
   * Pauses every running session for a stop of the daemon and flushes everything.
   *
   * @param grace_ms time for turns to reach a safe point.
   */
  async stop(grace_ms: number): Promise<void> {
    await this.ready;
    clearTimeout(this.#resting);
    clearTimeout(this.#retaining);
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
      // One that rests was anchored when it came to rest.
      if (this.#awake.has(session)) await this.#anchor(session);
    }));
    await this.#save();
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
    const found = entries ?? await this.#rebuiltIndex(problem!);
    for (const [id, entry] of Object.entries(found)) {
      await this.#restoreOne(id, entry.journal_path, entry.workdir, entry.started_at);
    }
    if (entries === undefined) await this.#save();
    this.#scheduleRetention(0);
  }

  async #restoreOne(id: string, path: string, workdir: string, started_at: string): Promise<void> {
    const { log, version } = this.#parts;
    const state = emptyState(id);
    try {
      checkJournalPrivate(path);
      const { journal, torn_bytes } = await Journal.open(
        path,
        (event) => applyToState(state, event),
      );
      if (journal.last_seq === 0) throw new Error("the journal is empty");
      const session = new Session(state, journal, this.#session_parts);
      if (torn_bytes > 0) {
        log.warn("cut off the torn last line of a journal", { session_id: id, path, torn_bytes });
      }
      if (!session.final) {
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
      this.#add(session);
    } catch (error) {
      const reason = error instanceof Deno.errors.NotFound
        ? `its journal is not at ${path}`
        : error instanceof SvcError && error.hint !== undefined
        ? `${error.message}; ${error.hint}`
        : messageOf(error);
      log.error("a session is unreadable", { session_id: id, path, reason });
      const item = { ...toItem({ ...state, workdir, started_at }), state: "unreadable", reason };
      this.#unreadable.set(id, { journal_path: path, item: item as SessionItem });
      this.#indexed[id] = { workdir, started_at, journal_path: path, last_seq: state.last_seq };
    }
    this.#forgetDerived();
  }

  #add(session: Session): void {
    this.#sessions.set(session.id, session);
    this.#changed.add(session);
    this.#forgetDerived();
  }

  /** What the links in `journals/`, and the folders they lead to, say of the sessions there are. */
  async #rebuiltIndex(problem: string): Promise<IndexEntries> {
    const paths = new Map<string, string>();
    for (const link of Deno.readDirSync(this.#parts.journal_links)) {
      if (link.isSymlink) {
        paths.set(link.name, Deno.readLinkSync(join(this.#parts.journal_links, link.name)));
      }
    }
    for (const path of [...paths.values()]) {
      for await (const sibling of readDirIfAny(join(path, "..", ".."))) {
        if (!paths.has(sibling.name) && sibling.name.startsWith("sess_")) {
          paths.set(sibling.name, join(path, "..", "..", sibling.name, "journal.ndjson"));
        }
      }
    }
    if (paths.size > 0 || problem !== MISSING) {
      this.#parts.log.warn(`the sessions index ${problem}; rebuilt from the journals found`, {
        path: this.#parts.index_path,
        sessions: paths.size,
      });
    }
    const entries: IndexEntries = {};
    for (const [id, journal_path] of paths) {
      const workdir = join(journal_path, "..", "..", "..", "..");
      entries[id] = { workdir, started_at: "", journal_path, last_seq: 0 };
    }
    return entries;
  }

  // ── housekeeping ─────────────────────────────────────────────────────────────────────────────

  #onCommit(session: Session, events: readonly Published[], durable: boolean): void {
    this.#parts.onEvents?.(session, events);
    this.#items.delete(session);
    this.#changed.add(session);
    this.#forgetDerived();
    this.#awake.add(session);
    this.#resting ??= this.#scheduleRest();
    if (durable) this.#retain(session);
    if (durable && this.#sessions.has(session.id)) this.#saveFlushed();
  }

  /** Has the index written after a flush; where that is much, not for every one. */
  #saveFlushed(): void {
    const save = () => {
      this.#save().catch((error) => {
        this.#parts.log.error("the sessions index cannot be written", { error: messageOf(error) });
      });
    };
    if (this.#sessions.size < MANY) return save();
    this.#saving ??= setTimeout(save, SAVE_MS);
  }

  /** Writes the index, and what waited for it with it. */
  #save(): Promise<void> {
    clearTimeout(this.#saving);
    this.#saving = undefined;
    return this.#index.save();
  }

  #scheduleRest(): number {
    const timer = setTimeout(async () => {
      const rested = [...this.#awake].filter((session) => session.rest(REST_MS));
      for (const session of rested) this.#awake.delete(session);
      await Promise.all(rested.map((session) => this.#anchor(session)));
      if (this.#awake.size === 0) this.#parts.onRest();
      this.#resting = this.#awake.size > 0 ? this.#scheduleRest() : undefined;
    }, REST_MS);
    Deno.unrefTimer(timer);
    return timer;
  }

  /** Looks now and then for journals that have grown too old while nothing happened. */
  #scheduleRetention(after_ms: number): void {
    this.#retaining = setTimeout(async () => {
      for (const session of this.#sessions.values()) await this.#retain(session);
      this.#scheduleRetention(RETENTION_EVERY_MS);
    }, after_ms);
    Deno.unrefTimer(this.#retaining);
  }

  /** Keeps where a session's ledger stands apart from its journal, to hold the two together later. */
  async #anchor(session: Session): Promise<void> {
    const path = this.anchorPath(session.id);
    try {
      await writeAnchor(path, session.journal, await readAnchor(path));
    } catch (error) {
      this.#parts.log.error("a ledger cannot be anchored", { path, error: messageOf(error) });
    }
  }

  /** The file of a session's ledger anchor. */
  anchorPath(id: string): string {
    return join(this.#parts.anchors, `${id}.json`);
  }

  async #retain(session: Session): Promise<void> {
    const limits = this.#parts.retention();
    if (!needsRetention(session.journal, limits)) return;
    const { log } = this.#parts;
    const session_id = session.id;
    const before = session.journal.size;
    try {
      if (!(await session.retain(limits))) return;
      const { size, trimmed_seq } = session.journal;
      log.info("rewrote a journal's oldest turns", { session_id, before, size, trimmed_seq });
      if (!this.#awake.has(session)) session.journal.release();
    } catch (error) {
      log.error("a journal cannot be trimmed", { session_id, error: messageOf(error) });
    }
  }

  #entries(): IndexEntries {
    for (const { id, state, journal } of this.#changed) {
      if (!this.#sessions.has(id)) continue;
      this.#indexed[id] = {
        workdir: state.workdir,
        started_at: state.started_at,
        journal_path: journal.path,
        last_seq: state.last_seq,
      };
    }
    this.#changed.clear();
    return this.#indexed;
  }
}

/** The `.svc` that a session's journal is in. */
function ownDir(journal_path: string): string {
  return join(journal_path, "..", "..", "..");
}

function toItem(state: SessionState): SessionItem {
  return {
    id: state.id,
    workdir: state.workdir,
    model: state.model,
    title: state.title,
    state: state.state,
    activity: state.activity,
    started_at: state.started_at,
    ended_at: state.ended_at,
    last_seq: state.last_seq,
    last_event_at: state.last_event_at,
    approval: state.approval,
    trust: state.trust,
    budget_usd: state.budget_usd,
    cost_usd: state.cost_usd,
    pending_approvals: state.pending_approvals.length,
    lanes: state.lanes.map((lane) => ({ ...lane })),
  };
}

function ifMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

async function* readDirIfAny(path: string): AsyncGenerator<Deno.DirEntry> {
  try {
    yield* Deno.readDir(path);
  } catch (error) {
    ifMissing(error);
  }
}
