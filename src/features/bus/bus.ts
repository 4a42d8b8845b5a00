/**
 * The bus: a durable log of all sessions for observers (product.md, `bus/`). It is a copy of the
 * journals. A failure here affects observers, never a session.
 */
import { setImmediate } from "node:timers/promises";
import { deadline } from "@std/async";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import { type Sink, type Source, Subscription } from "../../session/subscription.ts";
import {
  type BusEntry,
  type BusRecord,
  DAEMON_SCOPE,
  encodeBusRecord,
  LEFT_OUT,
} from "./record.ts";
import type { Reach } from "./reach.ts";
import type { SegmentLimits, Segments } from "./segments.ts";

export { type BusEntry, type BusRecord, DAEMON_SCOPE } from "./record.ts";

const MIB = 1024 * 1024;
/** In characters; more is dropped and counted. */
const WAITING_MAX = 16 * MIB;
const SYNC_EVERY_MS = 1_000;
/** Between attempts to complete the bus. */
const COMPLETE_EVERY_MS = 1_000;

export interface BusOptions extends Partial<SegmentLimits> {
  /** Created with mode 0700 at the first event. */
  dir: string;
  log: Log;
  /** Journal paths by session id; without it, nothing is completed. */
  journals?(): Promise<ReadonlyMap<string, string>>;
  /** How long slow observers may take for the last events at close. Default: 1,000. */
  deliver_grace_ms?: number;
}

interface Waiting {
  scope: string;
  entry: BusEntry;
}

/**
 * @example
 * ```ts ignore
 * const bus = new Bus({ dir: "/home/me/.svc/bus", log });
 * bus.record("sess_1", events);
 * const seq = await bus.lastSeq();
 * bus.subscribe(sink, seq).start();
 * ```
 */
export class Bus implements Source<BusRecord> {
  /** Observers stay until the daemon stops. */
  readonly final = false;
  readonly #options: BusOptions;
  readonly #limits: SegmentLimits;
  #segments: Segments | undefined;
  #opening: Promise<Segments> | undefined;
  #waiting: Waiting[] = [];
  /** Characters in `#waiting`. */
  #waiting_size = 0;
  #draining: Promise<void> | undefined;
  #subscriptions = new Set<Subscription<BusRecord>>();
  #sync_timer: number | undefined;
  #dropped = 0;
  /** Set once the files are open. */
  #reach: Reach | undefined;
  /** The earliest next attempt to complete the bus. */
  #complete_at = 0;
  #retry_timer: number | undefined;
  /** Whether the failure was logged. */
  #failing = false;
  #closed = false;

  constructor(options: BusOptions) {
    this.#options = options;
    const { segment_bytes = 8 * MIB, total_bytes = 64 * MIB } = options;
    this.#limits = { segment_bytes, total_bytes };
  }

  // ── writing ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes events in order. Returns at once and never throws.
   * @param scope a session id or {@linkcode DAEMON_SCOPE}
   */
  record(scope: string, entries: readonly BusEntry[]): void {
    if (this.#closed) return;
    for (const entry of entries) {
      if (LEFT_OUT.has(entry.type)) continue;
      if (this.#waiting_size > WAITING_MAX) {
        this.#drop([{ scope, entry }], "the disk is too slow");
        continue;
      }
      this.#waiting.push({ scope, entry });
      this.#waiting_size += entry.data_json.length;
    }
    if (this.#waiting.length > 0) this.#draining ??= this.#drain();
  }

  /** The number of events not written when they came; those of sessions follow later. */
  get dropped(): number {
    return this.#dropped;
  }

  async #drain(): Promise<void> {
    do {
      // Batches the events of one turn of the event loop.
      await setImmediate();
      const batch = this.#waiting;
      this.#waiting = [];
      this.#waiting_size = 0;
      try {
        const segments = await this.#open();
        await this.#complete(segments);
        this.#writeLive(segments, batch);
      } catch (error) {
        this.#drop(batch, messageOf(error));
      }
    } while (this.#waiting.length > 0);
    this.#draining = undefined;
  }

  /**
   * Copies missing events from the journals, after a crash or dropped events. New events wait, so
   * that each session's stay in order.
   */
  async #complete(segments: Segments): Promise<void> {
    const { journals, log } = this.#options;
    const reach = this.#reach!;
    if (!reach.incomplete || journals === undefined) return;
    if (performance.now() < this.#complete_at) return;
    this.#complete_at = performance.now() + COMPLETE_EVERY_MS;
    const paths = await journals();
    const { entriesAfter } = await import("./missing.ts");
    const behind = new Set<string>();
    let events = 0;
    for (const [scope, path] of paths) {
      if (!reach.lacks(scope)) continue;
      for await (const entries of entriesAfter(path, ...reach.after(scope))) {
        this.#write(segments, entries.map((entry) => ({ scope, entry })), true);
        behind.add(scope);
        events += entries.length;
        await setImmediate();
      }
    }
    reach.completed();
    if (events === 0) return;
    const counts = { events, sessions: behind.size };
    log.info("the bus was completed from the journals", counts);
    const data_json = JSON.stringify(counts);
    const entry = { at: new Date().toISOString(), type: "bus.completed", data_json };
    this.#write(segments, [{ scope: DAEMON_SCOPE, entry }], false);
  }

  #writeLive(segments: Segments, batch: readonly Waiting[]): void {
    const reach = this.#reach!;
    const inOrder = ({ scope, entry }: Waiting) =>
      entry.seq === undefined || this.#options.journals === undefined || !reach.lacks(scope);
    const late = batch.filter((it) => !inOrder(it));
    const now = batch.filter((it) =>
      inOrder(it) && !(it.entry.seq !== undefined && reach.cameFromJournal(it.scope, it.entry.seq))
    );
    if (now.length > 0) this.#write(segments, now, false);
    if (late.length > 0) this.#drop(late, "earlier events of the session are missing");
    else this.#failing = false;
  }

  #write(segments: Segments, batch: readonly Waiting[], from_journal: boolean): void {
    const first = segments.last_seq + 1;
    let lines = "";
    const records = batch.map(({ scope, entry: { seq, at, type, data_json } }, n): BusRecord => {
      const record = { seq: first + n, scope, session_seq: seq, at, type, data_json };
      lines += encodeBusRecord(record);
      return record;
    });
    segments.append(lines, records.length);
    this.#reach!.appended(records, from_journal);
    for (const record of records) {
      for (const subscription of this.#subscriptions) subscription.push(record);
    }
    this.#sync_timer ??= this.#scheduleSync(segments);
  }

  #scheduleSync(segments: Segments): number {
    const timer = setTimeout(async () => {
      try {
        await segments.sync();
      } catch (error) {
        this.#options.log.warn("cannot flush the bus", { error: messageOf(error) });
      }
      this.#sync_timer = undefined;
    }, SYNC_EVERY_MS);
    Deno.unrefTimer(timer);
    return timer;
  }

  #drop(batch: readonly Waiting[], reason: string): void {
    this.#dropped += batch.length;
    for (const { scope, entry } of batch) {
      if (entry.seq !== undefined) this.#reach?.missed(scope);
    }
    this.#retry_timer ??= this.#scheduleRetry();
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.error("the bus drops events", { dir: this.#options.dir, reason });
  }

  /** Completes the bus even if no event comes. */
  #scheduleRetry(): number {
    const timer = setTimeout(() => {
      this.#retry_timer = undefined;
      if (!this.#closed && this.#reach?.incomplete) this.#draining ??= this.#drain();
    }, COMPLETE_EVERY_MS);
    Deno.unrefTimer(timer);
    return timer;
  }

  /**
   * Erases a session's data. Its records keep their places and become `session.deleted`.
   * @throws the system's error
   */
  async forget(scope: string): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
    const done = Promise.withResolvers<void>();
    // Blocks writing meanwhile.
    this.#draining = done.promise;
    try {
      this.#waiting = this.#waiting.filter((it) => it.scope !== scope);
      await (await this.#open()).blank(scope);
    } finally {
      this.#draining = this.#waiting.length > 0 ? this.#drain() : undefined;
      done.resolve();
    }
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────

  get published_seq(): number {
    return this.#segments?.last_seq ?? 0;
  }

  async *replay(since_seq: number): AsyncGenerator<BusRecord> {
    yield* (await this.#open()).read(since_seq);
  }

  join(subscription: Subscription<BusRecord>): void {
    this.#subscriptions.add(subscription);
  }

  leave(subscription: Subscription<BusRecord>): void {
    this.#subscriptions.delete(subscription);
  }

  /** @throws {SvcError} permission_denied when the bus cannot be opened */
  async lastSeq(): Promise<number> {
    return (await this.#open()).last_seq;
  }

  /**
   * Creates a subscription, which delivers nothing before its `start`. Call {@linkcode Bus.lastSeq}
   * first.
   * @throws {SvcError} validation when since_seq is beyond the last record; journal_trimmed when
   * the next one was dropped
   */
  subscribe(sink: Sink<BusRecord>, since_seq: number): Subscription<BusRecord> {
    if (since_seq > this.published_seq) {
      throw new SvcError(
        "validation",
        `since_seq ${since_seq} is beyond the last bus_seq, ${this.published_seq}`,
      );
    }
    this.#segments?.requireKept(since_seq + 1);
    return new Subscription(this, sink, { since_seq });
  }

  /** Writes and delivers what waits, flushes and closes. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
    if (this.#reach?.incomplete) {
      this.#complete_at = 0;
      await this.#drain();
    }
    await this.#forgetGone();
    const subscriptions = [...this.#subscriptions];
    const delivered = Promise.all(subscriptions.map((it) => it.delivered));
    await deadline(delivered, this.#options.deliver_grace_ms ?? 1_000).catch(() => {});
    const error = new SvcError("shutting_down", "the daemon is stopping", {
      hint: "tail the bus again with since_seq when the daemon is back",
    });
    for (const subscription of subscriptions) subscription.end(error);
    await Promise.all(subscriptions.map((it) => it.replayed));
    clearTimeout(this.#sync_timer);
    clearTimeout(this.#retry_timer);
    await this.#opening?.catch(() => {});
    await this.#segments?.close();
  }

  async #forgetGone(): Promise<void> {
    // Without activity, listing all sessions would take most of a stop.
    if (!this.#reach?.moved) return;
    const paths = await this.#options.journals?.().catch(() => undefined);
    if (paths !== undefined) this.#reach.keep(paths);
  }

  /** Opens the files on first use; retries after a failure. */
  #open(): Promise<Segments> {
    return this.#opening ??= this.#openNow().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
  }

  async #openNow(): Promise<Segments> {
    const { dir, log } = this.#options;
    // The daemon listens without them.
    const [{ Segments }, { endOf, Reach, readPositions }] = await Promise.all([
      import("./segments.ts"),
      import("./reach.ts"),
    ]);
    const known = await readPositions(dir);
    const segments = await Segments.open({
      ...this.#limits,
      dir,
      log,
      end: endOf(known),
      positions: (end) => this.#reach?.text(end),
    });
    this.#reach = await Reach.of(segments, known);
    return this.#segments = segments;
  }
}
