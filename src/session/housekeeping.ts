/** Housekeeping of idle sessions: they rest, and retention rewrites their old turns. */
import { join } from "@std/path";
import { messageOf } from "../protocol/errors.ts";
import type { HubParts } from "./hub_parts.ts";
import { isPast } from "./retention.ts";
import type { Session } from "./session.ts";

interface HousekeepingParts extends Pick<HubParts, "anchors" | "log" | "retention" | "onRest"> {
  /** The sessions whose journals may be past their limits. */
  sessions(): AsyncIterable<Session>;
  /** Called when sessions have come to rest: their data stays the same for a while. */
  onRested(): void;
}

/** How long a session must be quiet before it frees its memory and files. */
const REST_MS = 5_000;
/** How often journals are checked for their age. */
const RETENTION_FIRST_MS = 1_000;
const RETENTION_EVERY_MS = 15 * 60_000;
/**
 * Growth, as part of the limit, before a journal's size is checked again. Otherwise a journal that
 * could not be rewritten, as with an open turn, would be read at each event.
 */
const GROWTH = 0.1;

export class Housekeeping {
  readonly #parts: HousekeepingParts;
  /** Sessions that may hold resources that {@linkcode Session.rest} frees. */
  #awake = new Set<Session>();
  /** Bytes of the journals at the last check. */
  #looked_at = new WeakMap<Session, number>();
  readonly #working = new Map<Session, Promise<unknown>>();
  readonly #gone = new WeakSet<Session>();
  #resting: number | undefined;
  #retaining: number | undefined;
  #stopped = false;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
  }

  /** Whether all sessions have been quiet for a while. */
  get at_rest(): boolean {
    return this.#awake.size === 0;
  }

  anchorPath(id: string): string {
    return join(this.#parts.anchors, `${id}.json`);
  }

  /** Call when a session recorded something. @param durable whether its journal was flushed */
  committed(session: Session, durable: boolean): void {
    this.#awake.add(session);
    if (!this.#stopped) this.#resting ??= this.#scheduleRest();
    if (durable && this.#isTooLarge(session)) this.#retain(session);
  }

  forget(session: Session): void {
    this.#awake.delete(session);
  }

  /** Forgets a session for good; resolves when no work on its files remains. */
  async letGo(session: Session): Promise<void> {
    this.#gone.add(session);
    this.forget(session);
    await this.#working.get(session);
  }

  /** Runs work on a session's files, unless it was let go. */
  async #with(session: Session, work: () => Promise<void>): Promise<void> {
    if (this.#gone.has(session)) return;
    const working = work();
    const settled = Promise.allSettled([this.#working.get(session), working]);
    this.#working.set(session, settled);
    try {
      await working;
    } finally {
      if (this.#working.get(session) === settled) this.#working.delete(session);
    }
  }

  /** Checks the journals for their age from now on. */
  start(): void {
    this.#scheduleRetention(RETENTION_FIRST_MS);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#resting);
    clearTimeout(this.#retaining);
  }

  /** Whether a session was active recently. */
  isAwake(session: Session): boolean {
    return this.#awake.has(session);
  }

  /** Anchors a session's ledger before a stop; a resting session is anchored already. */
  async anchorAwake(session: Session): Promise<void> {
    if (!this.#awake.has(session)) return;
    await session.keep();
    await this.#anchor(session);
    session.journal.release();
  }

  #scheduleRest(): number {
    const timer = setTimeout(async () => {
      let rested = false;
      // One after the other: each may hold a whole conversation.
      for (const session of [...this.#awake]) {
        await this.#with(session, async () => {
          if (!(await session.rest(REST_MS))) return;
          this.#awake.delete(session);
          await this.#anchor(session);
          rested = true;
        });
      }
      if (rested) this.#parts.onRested();
      if (this.#awake.size === 0) this.#parts.onRest();
      const again = this.#awake.size > 0 && !this.#stopped;
      this.#resting = again ? this.#scheduleRest() : undefined;
    }, REST_MS);
    Deno.unrefTimer(timer);
    return timer;
  }

  /** Keeps the ledger's head apart from the journal, to compare them later. */
  async #anchor(session: Session): Promise<void> {
    const path = this.anchorPath(session.id);
    try {
      // Otherwise a power cut could lose records that the anchor names.
      await session.journal.sync();
      if (!this.#awake.has(session)) session.journal.release();
      const { readAnchor, writeAnchor } = await import("./ledger.ts");
      await writeAnchor(path, session.journal, await readAnchor(path));
    } catch (error) {
      this.#parts.log.error("cannot anchor a ledger", { path, error: messageOf(error) });
    }
  }

  #scheduleRetention(after_ms: number): void {
    this.#retaining = setTimeout(async () => {
      for await (const session of this.#parts.sessions()) await this.#retain(session);
      if (!this.#stopped) this.#scheduleRetention(RETENTION_EVERY_MS);
    }, after_ms);
    Deno.unrefTimer(this.#retaining);
  }

  #isTooLarge(session: Session): boolean {
    const { bytes } = this.#parts.retention();
    const { size } = session.journal;
    return size > bytes && size > (this.#looked_at.get(session) ?? 0) + GROWTH * bytes;
  }

  async #retain(session: Session): Promise<void> {
    await this.#with(session, () => this.#retainNow(session));
  }

  async #retainNow(session: Session): Promise<void> {
    const limits = this.#parts.retention();
    if (!isPast(session.journal, limits)) return;
    const { log } = this.#parts;
    const session_id = session.id;
    const before = session.journal.size;
    this.#looked_at.set(session, before);
    try {
      if (!(await session.retain(limits))) return;
      const { size, trimmed_seq } = session.journal;
      this.#looked_at.set(session, size);
      log.info("compacted the oldest turns of a journal", {
        session_id,
        before,
        size,
        trimmed_seq,
      });
      if (!this.#awake.has(session)) session.journal.release();
    } catch (error) {
      log.error("cannot compact a journal", { session_id, error: messageOf(error) });
    }
  }
}
