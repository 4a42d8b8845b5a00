/** The messages that wait in a session for a turn: sent, seen by a model call, or withdrawn. */
import type { EventData, SendOptions } from "../protocol/events.ts";
import type { Later, QueuedMessage, SessionState } from "./session_state.ts";
import type { RunningTurn } from "./turn.ts";

/** Where a message stands. */
export interface Sent {
  message_id: string;
  seq: number;
}

/** A message that was withdrawn; with its text if that is not in a `user.message`. */
export type Withdrawn = Pick<QueuedMessage, "message_id" | "seq"> & Partial<Pick<Later, "message">>;

export class Inbox {
  readonly #state: SessionState;
  readonly #turn: () => RunningTurn | undefined;
  readonly #sending = new Map<string, Promise<Sent>>();
  /** The messages that are being withdrawn or begin to be answered, and when that is recorded. */
  readonly #withdrawing = new Set<string>();
  #withdrawn: Promise<unknown> = Promise.resolve();

  constructor(state: SessionState, turn: () => RunningTurn | undefined) {
    this.#state = state;
    this.#turn = turn;
  }

  /** Sends a message; the same client_message_id again sends nothing and returns the same. */
  sendOnce({ client_message_id }: SendOptions, send: () => Promise<Sent>): Promise<Sent> {
    if (client_message_id === undefined) return send();
    const sent = this.#state.sent.get(client_message_id);
    if (sent !== undefined) return Promise.resolve(sent);
    let sending = this.#sending.get(client_message_id);
    if (sending === undefined) {
      sending = send().finally(() => this.#sending.delete(client_message_id));
      this.#sending.set(client_message_id, sending);
    }
    return sending;
  }

  /** Whether a message waits that no model call has seen. */
  get fresh(): boolean {
    const taken_seq = this.#turn()?.taken_seq ?? 0;
    return this.#state.queued.some(({ message_id, seq }) =>
      seq > taken_seq && !this.#withdrawing.has(message_id)
    );
  }

  /** As {@linkcode Inbox.fresh}; the waiting messages can no longer be withdrawn. */
  holdFresh(): boolean {
    const { fresh } = this;
    const turn = this.#turn();
    if (fresh && turn !== undefined) turn.held_seq = this.#state.last_seq;
    return fresh;
  }

  /**
   * Counts the waiting messages as seen: a model call is built from them.
   *
   * @returns false while some are being withdrawn: read the conversation again first.
   */
  takeFresh(): boolean {
    if (this.#withdrawing.size > 0) return false;
    const turn = this.#turn();
    if (turn !== undefined) turn.taken_seq = this.#state.last_seq;
    return true;
  }

  /** The messages that wait and can be withdrawn: no turn has begun to answer them. */
  get waiting(): QueuedMessage[] {
    const { queued, taken_seq, turn: { started_seq = 0 } = {} } = this.#state;
    const { taken_seq: seen_seq = 0, held_seq = 0 } = this.#turn() ?? {};
    const from = Math.max(taken_seq, started_seq, seen_seq, held_seq);
    return queued.filter(({ message_id, seq }) => seq > from && !this.#withdrawing.has(message_id));
  }

  /** The messages that wait for turns of their own, in order. */
  get later(): Later[] {
    return this.#state.later.filter(({ message }) => !this.#withdrawing.has(message.message_id));
  }

  /** Keeps a message from being withdrawn while it leaves the queue. */
  async takeLater<T>({ message: { message_id } }: Later, take: () => Promise<T>): Promise<T> {
    this.#withdrawing.add(message_id);
    const taken = take();
    this.#withdrawn = Promise.allSettled([this.#withdrawn, taken]);
    try {
      return await taken;
    } finally {
      this.#withdrawing.delete(message_id);
    }
  }

  /**
   * Withdraws waiting messages that no turn has begun to answer.
   *
   * @param message_ids default: all; others than those that wait are passed over.
   * @returns those withdrawn, in the order in which they would have been read.
   */
  async withdraw(
    message_ids: readonly string[] | undefined,
    record: (messages: EventData["user.withdrawn"]["messages"]) => Promise<unknown>,
  ): Promise<Withdrawn[]> {
    // What was sent before is meant too.
    await Promise.allSettled(this.#sending.values());
    const later = this.later.map(({ seq, message }) => ({
      message_id: message.message_id,
      seq,
      message,
    }));
    const taken: Withdrawn[] = [...this.waiting, ...later].filter(({ message_id }) =>
      message_ids?.includes(message_id) ?? true
    );
    if (taken.length === 0) return [];
    for (const { message_id } of taken) this.#withdrawing.add(message_id);
    const recorded = record(taken.map(({ message_id, seq }) => ({ message_id, seq })));
    this.#withdrawn = Promise.allSettled([this.#withdrawn, recorded]);
    try {
      await recorded;
    } finally {
      // If it could not be recorded, they wait as before.
      for (const { message_id } of taken) this.#withdrawing.delete(message_id);
    }
    return taken;
  }

  /** Resolves when no message is being withdrawn. */
  async settled(): Promise<void> {
    await this.#withdrawn;
  }
}
