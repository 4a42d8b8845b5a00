/**
 * A subscriber of a session or the bus: each event after `since_seq` exactly once and in order,
 * replay before live (contract.md section 5). It reads the journal until it has caught up, so a
 * slow subscriber costs no memory.
 */
import { messageOf, SvcError, toSvcError } from "../protocol/errors.ts";
import { type EventData, MAIN_LANE, type SessionEvent } from "../protocol/events.ts";

/** An event with its session and its data as JSON, encoded once for journal and subscribers. */
export type Published = SessionEvent & { session_id: string; data_json: string };

/** Forms of the main lane's text. */
export type Deltas = "session" | "lane" | "both";

/** Returns a filter for events with the main lane's text in this form. */
export function textForms(deltas: Deltas): (event: Pick<Numbered, "type" | "data">) => boolean {
  return ({ type, data }) => {
    if (type === "session.delta") return deltas !== "lane";
    if (type !== "lane.delta" || deltas !== "session") return true;
    return (data as EventData["lane.delta"]).lane_id !== MAIN_LANE;
  };
}

/** The part of an event that a subscription needs; `seq` orders the events of its source. */
interface Numbered {
  readonly seq: number;
  readonly type: string;
  readonly data?: unknown;
}

export interface Sink<E extends Numbered = Published> {
  /** Takes one event. A returned promise delays the next one. */
  deliver(event: E): void | Promise<void>;
  /** Called once when the subscription ends by itself, without an error if the session ended. */
  ended(error: SvcError | undefined): void;
}

/** A session or the bus. */
export interface Source<E extends Numbered = Published> {
  /** seq of the last published event. */
  readonly published_seq: number;
  readonly final: boolean;
  replay(since_seq: number): AsyncIterable<E>;
  /** Passes a subscription every event from now on, and the source's end. */
  join(subscription: Subscription<E>): void;
  leave(subscription: Subscription<E>): void;
}

/** Events that may wait before the subscriber is closed with -32008. */
export const WAITING_MAX = 1024;

export class Subscription<E extends Numbered = Published> {
  readonly #source: Source<E>;
  readonly #sink: Sink<E>;
  readonly #wants: (event: Numbered) => boolean;
  #last_seq: number;
  #queue: E[] = [];
  /** Whether it has caught up; until then it reads published events. */
  #live = false;
  #replayed: Promise<void> = Promise.resolve();
  #pumping = false;
  #pumped: Promise<void> = Promise.resolve();
  #closed = false;
  /** Ends a replay's wait for its sink. */
  #letGo: (() => void) | undefined;

  constructor(
    source: Source<E>,
    sink: Sink<E>,
    { since_seq, deltas = "both" }: { since_seq: number; deltas?: Deltas },
  ) {
    this.#source = source;
    this.#sink = sink;
    this.#wants = textForms(deltas);
    this.#last_seq = since_seq;
  }

  /** Replays missing events, then goes live. Call once. */
  start(): Promise<void> {
    if (!this.#closed) this.#source.join(this);
    return this.#replayed = this.#replay();
  }

  async #replay(): Promise<void> {
    try {
      while (!this.#closed) {
        if (this.#last_seq >= this.#source.published_seq) {
          if (this.#source.final) return this.end(undefined);
          // No await between this check and `push`, so that no event is lost.
          this.#live = true;
          return;
        }
        for await (const event of this.#source.replay(this.#last_seq)) {
          if (this.#closed) return;
          if (event.seq > this.#source.published_seq) break;
          const pressure = this.#deliver(event);
          if (pressure !== undefined) await this.#unlessClosed(pressure);
        }
      }
    } catch (error) {
      this.end(toSvcError(error));
    }
  }

  async #unlessClosed(pressure: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#letGo = resolve;
    await Promise.race([pressure, promise]);
  }

  /** Takes a live event, in seq order. */
  push(event: E): void {
    if (!this.#live) return;
    if (this.#queue.length >= WAITING_MAX) {
      return this.end(
        new SvcError(
          "crash_recovery",
          "the subscription was closed because the client was too slow",
          {
            hint: "subscribe again with since_seq set to last_seq",
            details: { last_seq: this.#last_seq },
          },
        ),
      );
    }
    this.#queue.push(event);
    if (!this.#pumping) this.#pumped = this.#pump();
  }

  /** Resolves when the sink has taken all events so far. */
  get delivered(): Promise<void> {
    return this.#replayed.then(() => this.#pumped);
  }

  /** Resolves when nothing is being read for it; soon after `close`, whatever the sink does. */
  get replayed(): Promise<void> {
    return this.#replayed;
  }

  /** Ends the subscription without telling the sink. */
  close(): void {
    this.#closed = true;
    this.#queue = [];
    this.#source.leave(this);
    this.#letGo?.();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    try {
      for (let event; !this.#closed && (event = this.#queue.shift()) !== undefined;) {
        const pressure = this.#deliver(event);
        if (pressure !== undefined) await pressure;
      }
      if (this.#source.final && !this.#closed) this.end(undefined);
    } catch (error) {
      this.end(new SvcError("internal", `delivery failed: ${messageOf(error)}`));
    } finally {
      this.#pumping = false;
    }
  }

  #deliver(event: E): void | Promise<void> {
    this.#last_seq = event.seq;
    return this.#wants(event) ? this.#sink.deliver(event) : undefined;
  }

  /** Ends the subscription and tells the sink why; undefined if the session ended. */
  end(error: SvcError | undefined): void {
    if (this.#closed) return;
    this.close();
    this.#sink.ended(error);
  }
}
