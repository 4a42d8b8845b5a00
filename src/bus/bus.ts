/**
 * The bus: a durable log of what happens in all sessions, for observers (product.md, `bus/`). It is
 * a copy: the sessions' journals have everything first, and whatever goes wrong here costs observers
 * their view and never a session its progress.
 */
import { setImmediate } from "node:timers/promises";
import { deadline } from "@std/async";
import { messageOf, SvcError } from "../platform/errors.ts";
import type { Log } from "../platform/log.ts";
import { type Sink, type Source, Subscription } from "../session/subscription.ts";
import { type BusEntry, type BusRecord, encodeBusRecord } from "./record.ts";
import { type SegmentLimits, Segments } from "./segments.ts";

export { type BusEntry, type BusRecord, DAEMON_SCOPE } from "./record.ts";

const MIB = 1024 * 1024;
/** Not on the bus: text as it is generated. The events that end a turn have all of it. */
const LEFT_OUT: ReadonlySet<string> = new Set(["session.delta", "lane.delta"]);
/** Characters that may wait for the disk; what comes on top is dropped and counted. */
const WAITING_MAX = 16 * MIB;
const SYNC_EVERY_MS = 1_000;
/** How long a slow observer may take for its last events when the bus closes. */
const DELIVER_GRACE_MS = 1_000;

export interface BusOptions extends Partial<SegmentLimits> {
  /** Made with mode 0700 at the first event. */
  dir: string;
  log: Log;
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
  /** Said once, until it works again. */
  #failing = false;
  #closed = false;

  constructor(options: BusOptions) {
    this.#options = options;
    const { segment_bytes = 8 * MIB, total_bytes = 64 * MIB } = options;
    this.#limits = { segment_bytes, total_bytes };
  }

  // ── writing ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes events, in order. Returns at once and never throws.
   *
   * @param scope the session they belong to, or {@linkcode DAEMON_SCOPE}.
   */
  record(scope: string, entries: readonly BusEntry[]): void {
    if (this.#closed) return;
    for (const entry of entries) {
      if (LEFT_OUT.has(entry.type)) continue;
      if (this.#waiting_size > WAITING_MAX) {
        this.#drop(1, "the disk does not keep up");
        continue;
      }
      this.#waiting.push({ scope, entry });
      this.#waiting_size += entry.data_json.length;
    }
    if (this.#waiting.length > 0) this.#draining ??= this.#drain();
  }

  /** Number of events that could not be written. */
  get dropped(): number {
    return this.#dropped;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // What comes within one turn of the event loop is written together.
      await setImmediate();
      const batch = this.#waiting;
      this.#waiting = [];
      this.#waiting_size = 0;
      try {
        this.#write(await this.#open(), batch);
        this.#failing = false;
      } catch (error) {
        this.#drop(batch.length, messageOf(error));
      }
    }
    this.#draining = undefined;
  }

  #write(segments: Segments, batch: readonly Waiting[]): void {
    const first = segments.last_seq + 1;
    let lines = "";
    const records = batch.map(({ scope, entry: { seq, at, type, data_json } }, n): BusRecord => {
      const record = { seq: first + n, scope, session_seq: seq, at, type, data_json };
      lines += encodeBusRecord(record);
      return record;
    });
    segments.append(lines, records.length);
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
        this.#options.log.warn("the bus cannot be flushed", { error: messageOf(error) });
      }
      this.#sync_timer = undefined;
    }, SYNC_EVERY_MS);
    Deno.unrefTimer(timer);
    return timer;
  }

  #drop(count: number, reason: string): void {
    this.#dropped += count;
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.error("the bus drops events", { dir: this.#options.dir, reason });
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

  /** bus_seq of the last record. @throws {SvcError} permission_denied when the bus cannot be opened. */
  async lastSeq(): Promise<number> {
    return (await this.#open()).last_seq;
  }

  /**
   * Makes a subscription; it delivers nothing before its `start` is called. Only for a bus whose
   * {@linkcode Bus.lastSeq} was asked for.
   *
   * @throws {SvcError} validation when since_seq is beyond the last record; journal_trimmed when what
   * follows it was dropped.
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

  /** Writes what waits, lets observers have it, flushes and closes. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
    const subscriptions = [...this.#subscriptions];
    const delivered = Promise.all(subscriptions.map((it) => it.delivered));
    await deadline(delivered, DELIVER_GRACE_MS).catch(() => {});
    const error = new SvcError("shutting_down", "the daemon is stopping", {
      hint: "tail the bus again with since_seq when it is back",
    });
    for (const subscription of subscriptions) subscription.end(error);
    clearTimeout(this.#sync_timer);
    await this.#opening?.catch(() => {});
    await this.#segments?.close();
  }

  /** Opens the files at the first need; a failure is tried again at the next. */
  #open(): Promise<Segments> {
    const { dir, log } = this.#options;
    return this.#opening ??= Segments.open(dir, this.#limits, log).then(
      (segments) => this.#segments = segments,
      (error) => {
        this.#opening = undefined;
        throw error;
      },
    );
  }
}
