/**
 * The single writer of a session's events; also reads them back for subscribers. The order for each
 * event is: seq, journal, flush if its type demands it, fold, subscribers.
 */
import { setImmediate } from "node:timers";
import { deadline } from "@std/async";
import { messageOf, SvcError } from "../protocol/errors.ts";
import {
  DURABLE,
  type EventData,
  type EventType,
  MAIN_LANE,
  type SessionEvent,
} from "../protocol/events.ts";
import type { Journal } from "./journal.ts";
import { encodeRecord } from "./record.ts";
import { accessHint, movedHint } from "./place_hints.ts";
import type { Retention } from "./retention.ts";
import type { SessionState } from "./session_state.ts";
import { findLane } from "./state_steps.ts";
import { applyToState } from "./state.ts";
import {
  type Deltas,
  type Published,
  type Sink,
  type Source,
  Subscription,
} from "./subscription.ts";

interface WriterParts {
  /** Called after each commit. @param durable whether the journal was flushed */
  onCommit(events: readonly Published[], durable: boolean): void;
  /** Called when events could not be written and are lost. */
  onFailed(error: SvcError): void;
}

interface Waiting {
  type: EventType;
  data: EventData[EventType];
  done?: PromiseWithResolvers<SessionEvent>;
}

/** Time for a slow subscriber's last events when the daemon stops. */
const DELIVER_GRACE_MS = 1_000;

export class Writer implements Source {
  readonly #state: SessionState;
  readonly #journal: Journal;
  readonly #parts: WriterParts;
  #waiting: Waiting[] = [];
  #jobs: (() => void)[] = [];
  #compacting = false;
  #draining = false;
  /** The current commit, or the last one. */
  #committing: Promise<void> = Promise.resolve();
  #subscriptions = new Set<Subscription>();
  /** Whether session.ended is on its way: no event may follow it. */
  #ending = false;
  /** Time of the last commit, by a monotonic clock. */
  #touched = performance.now();

  constructor(state: SessionState, journal: Journal, parts: WriterParts) {
    this.#state = state;
    this.#journal = journal;
    this.#parts = parts;
  }

  // ── writing ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Records an event. Resolves once it is in the journal (on disk for {@linkcode DURABLE} types)
   * and was passed to subscribers.
   *
   * @throws {SvcError} `ended` after session.ended; `internal` when the journal cannot be written;
   * then nothing of it remains
   */
  emit<T extends EventType>(type: T, data: EventData[T]): Promise<SessionEvent> {
    if (this.#ending || this.final) {
      return Promise.reject(new SvcError("ended", `session ${this.#state.id} has ended`));
    }
    if (type === "session.ended") this.#ending = true;
    const done = Promise.withResolvers<SessionEvent>();
    this.#post({ type, data, done });
    return done.promise;
  }

  /** Records text of the main lane, as session.delta and lane.delta; does not wait. */
  emitText(turn_id: string, text: string): void {
    const [own, lane] = this.#waiting.slice(-2);
    // Text within one turn of the event loop is one event.
    if (own?.type === "session.delta" && lane?.type === "lane.delta") {
      (own.data as EventData["session.delta"]).text += text;
      (lane.data as EventData["lane.delta"]).content_block.text += text;
      return;
    }
    if (this.#ending) return;
    this.#post({ type: "session.delta", data: { turn_id, text } });
    this.emitLaneText(MAIN_LANE, text);
  }

  /** Records reasoning of the model; does not wait. */
  emitReasoning(turn_id: string, text: string): void {
    const last = this.#waiting.at(-1);
    if (last?.type === "session.reasoning") {
      (last.data as EventData["session.reasoning"]).text += text;
    } else if (!this.#ending) this.#post({ type: "session.reasoning", data: { turn_id, text } });
  }

  /** Records output of a lane; does not wait. */
  emitLaneText(
    lane_id: string,
    text: string,
    redraws?: number,
    looks?: readonly number[],
  ): void {
    if (this.#ending) return;
    const content_block = { type: "text" as const, text };
    const more = { ...redraws !== undefined && { redraws }, ...looks && { looks } };
    this.#post({ type: "lane.delta", data: { lane_id, delta_seq: 0, content_block, ...more } });
  }

  /** Resolves once earlier events are in the journal, or failed. */
  async written(): Promise<void> {
    const last = this.#waiting.at(-1);
    if (last === undefined) return await this.#committing.catch(() => {});
    last.done ??= Promise.withResolvers();
    await last.done.promise.catch(() => {});
  }

  #post(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#wake();
  }

  #wake(): void {
    if (this.#draining) return;
    this.#draining = true;
    setImmediate(() => this.#drain());
  }

  #betweenCommits(job: () => void): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#jobs.push(() => {
      try {
        done.resolve(job());
      } catch (error) {
        done.reject(error);
      }
    });
    this.#wake();
    return done.promise;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0 || this.#jobs.length > 0) {
      for (const job of this.#jobs.splice(0)) job();
      const batch = this.#waiting;
      this.#waiting = [];
      if (batch.length === 0) continue;
      try {
        await (this.#committing = this.#commit(batch));
      } catch (cause) {
        const error = this.#unwritable(cause);
        for (const { done } of batch) done?.reject(error);
        this.#ending = false;
        this.#parts.onFailed(error);
      }
    }
    this.#draining = false;
  }

  async #commit(batch: Waiting[]): Promise<void> {
    const at = new Date().toISOString();
    const { id: session_id, last_seq: before } = this.#state;
    const delta_seqs = new Map<string, number>();
    let durable = false;
    let lines = "";
    const events = batch.map(({ type, data }, n): Published => {
      if (type === "lane.delta") this.#numberDelta(data as EventData["lane.delta"], delta_seqs);
      durable ||= DURABLE.has(type);
      const event = { seq: before + 1 + n, at, type, data } as SessionEvent;
      const data_json = JSON.stringify(data);
      lines += encodeRecord(event, data_json);
      return { ...event, session_id, data_json };
    });
    const [first_seq, last_seq] = [before + 1, before + events.length];
    await this.#journal.append({ lines, first_seq, last_seq, at, durable });
    this.#touched = performance.now();
    events.forEach((event, n) => {
      applyToState(this.#state, event);
      for (const subscription of this.#subscriptions) subscription.push(event);
      batch[n].done?.resolve(event);
    });
    this.#parts.onCommit(events, durable);
  }

  #numberDelta(delta: EventData["lane.delta"], numbered: Map<string, number>): void {
    const { lane_id } = delta;
    const last = numbered.get(lane_id) ?? findLane(this.#state, lane_id)?.delta_seq ?? 0;
    delta.delta_seq = last + 1;
    numbered.set(lane_id, last + 1);
  }

  /** Continues the journal at another path. */
  async moveTo(journal_path: string): Promise<void> {
    await this.#betweenCommits(() => this.#journal.moveTo(journal_path));
  }

  /** Asserts that new records can be found later. @throws {SvcError} internal */
  requireWritable(): void {
    try {
      // An open file can still be written after it was deleted.
      const { size } = Deno.lstatSync(this.#journal.path);
      if (size >= this.#journal.size) return;
      // Records after its end would belong to no journal.
      throw new Deno.errors.NotFound("an older one is there");
    } catch (cause) {
      throw this.#unwritable(cause);
    }
  }

  #unwritable(cause: unknown): SvcError {
    return new SvcError(
      "internal",
      `cannot write the journal ${this.#journal.path}: ${messageOf(cause)}`,
      {
        hint: cause instanceof Deno.errors.NotFound
          ? movedHint(this.#state.id)
          : cause instanceof Deno.errors.PermissionDenied
          ? accessHint(this.#state.workdir)
          : "free disk space, or repair the directory; earlier records are intact",
        cause,
      },
    );
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────

  get published_seq(): number {
    return this.#state.last_seq;
  }

  get final(): boolean {
    return this.#state.state === "ended";
  }

  async *replay(since_seq: number): AsyncGenerator<Published> {
    this.#requireKept(since_seq);
    const { id: session_id } = this.#state;
    for await (const event of this.#journal.read(since_seq)) {
      yield { ...event, session_id, data_json: JSON.stringify(event.data) };
    }
  }

  join(subscription: Subscription): void {
    this.#subscriptions.add(subscription);
  }

  leave(subscription: Subscription): void {
    this.#subscriptions.delete(subscription);
  }

  /**
   * Makes a subscription; call its `start`.
   *
   * @param options.since_seq the subscriber's last seq; by default only new events are delivered
   * @throws {SvcError} validation when since_seq is beyond the last event; journal_trimmed when
   * retention has rewritten what follows it
   */
  subscribe(sink: Sink, options: { since_seq?: number; deltas?: Deltas }): Subscription {
    const { since_seq = this.published_seq, deltas = "both" } = options;
    if (since_seq > this.published_seq) {
      throw new SvcError(
        "validation",
        `since_seq ${since_seq} is beyond the last event, ${this.published_seq}`,
      );
    }
    this.#requireKept(since_seq);
    return new Subscription(this, sink, { since_seq, deltas });
  }

  #requireKept(since_seq: number): void {
    const { trimmed_seq } = this.#journal;
    if (since_seq >= trimmed_seq) return;
    const oldest_seq = trimmed_seq + 1;
    throw new SvcError(
      "journal_trimmed",
      `events up to ${trimmed_seq} of session ${this.#state.id} are in a checkpoint`,
      {
        hint:
          `read session.transcript for their outcome, and subscribe with since_seq ${trimmed_seq}`,
        details: { oldest_seq },
      },
    );
  }

  // ── keeping ──────────────────────────────────────────────────────────────────────────────────

  get watched(): boolean {
    return this.#subscriptions.size > 0;
  }

  /** Whether nothing was written for `ms`. */
  quietFor(ms: number): boolean {
    return !this.#draining && performance.now() - this.#touched >= ms;
  }

  /** Rewrites the oldest turns if the journal is past its limits. Returns whether it did. */
  async retain(limits: Retention): Promise<boolean> {
    if (this.#compacting) return false;
    this.#compacting = true;
    try {
      const { planCheckpoint } = await import("./checkpoint.ts");
      const plan = await planCheckpoint(this.#state, this.#journal, limits);
      if (plan === undefined) return false;
      const { event, end } = plan;
      const line = encodeRecord(event, JSON.stringify(event.data));
      const compaction = await this.#journal.compact(line, event.seq, end);
      await this.#betweenCommits(() => compaction.finish());
      return true;
    } finally {
      this.#compacting = false;
    }
  }

  /** Ends subscriptions and closes the file, when the daemon stops. */
  async release(): Promise<void> {
    const subscriptions = [...this.#subscriptions];
    if (this.watched) {
      const delivered = Promise.all(subscriptions.map((it) => it.delivered));
      await deadline(delivered, DELIVER_GRACE_MS).catch(() => {});
    }
    const error = new SvcError("shutting_down", "the daemon is stopping", {
      hint: "subscribe again with since_seq when the daemon is back",
    });
    for (const subscription of [...this.#subscriptions]) subscription.end(error);
    await Promise.all(subscriptions.map((it) => it.replayed));
    this.#journal.release();
  }
}
