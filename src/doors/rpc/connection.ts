import type { Caller, Dispatcher } from "../../verbs/define.ts";
import { answer, eventFrame, subscriptionEndedFrame } from "./codec.ts";
import type { Text } from "../../base/text_slices.ts";
import { Subscriptions } from "../../verbs/subscriptions.ts";

/** Calls in progress above which a connection is not read. */
export const CALLS_MAX = 1_000;

/** Sends a message. A returned promise means back-pressure. */
export type Send = (text: Text) => void | Promise<void>;

export interface Receiver {
  /** Answers one message or batch. */
  receive(text: string): Promise<void>;
  /** Call when the peer has disconnected. */
  dispose(): void;
}

/** A JSON-RPC peer on a socket or WebSocket, with its subscriptions. */
export class Connection implements Receiver {
  readonly #dispatcher: Dispatcher;
  readonly #via: Caller["via"];
  readonly #send: Send;
  readonly #gone = new AbortController();
  readonly #subscriptions: Subscriptions;
  readonly #cut: () => void;

  /** @param cut ends the connection */
  constructor(dispatcher: Dispatcher, via: Caller["via"], send: Send, cut: () => void) {
    this.#dispatcher = dispatcher;
    this.#via = via;
    this.#send = send;
    this.#cut = cut;
    this.#subscriptions = new Subscriptions({
      event: (sub, event) => send(eventFrame(sub, event)),
      ended: (sub, error) => void send(subscriptionEndedFrame(sub, error)),
    });
  }

  async receive(text: string): Promise<void> {
    const push = this.#subscriptions.channel();
    const caller: Caller = { via: this.#via, push };
    const answering = {
      dispatcher: this.#dispatcher,
      caller,
      call: this.#gone,
      cut: this.#cut,
    };
    await answer(text, answering, (said) => {
      if (!this.#gone.signal.aborted) return this.#send(said);
    });
    // Events follow the answer that names their subscription.
    if (!this.#gone.signal.aborted) push.start();
  }

  /** Ends subscriptions and aborts running calls. */
  dispose(): void {
    this.#gone.abort();
    this.#subscriptions.close();
  }
}
