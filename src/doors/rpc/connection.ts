import type { Caller, Dispatcher } from "../../verbs/define.ts";
import { answer, eventFrame, subscriptionEndedFrame } from "./codec.ts";
import type { Text } from "../../base/text_slices.ts";
import { Subscriptions } from "../../verbs/subscriptions.ts";

/** The most calls of a connection in progress; with more, it is not read. */
export const CALLS_MAX = 1_000;

/** Sends the text of one message to the peer. A promise means back-pressure. */
export type Send = (text: Text) => void | Promise<void>;

/** The receiving end of a long-lived connection. */
export interface Receiver {
  /** Takes one message or batch and answers it. */
  receive(text: string): Promise<void>;
  /** Call it when the peer has disconnected. */
  dispose(): void;
}

/** One long-lived JSON-RPC peer: a socket or WebSocket connection with its subscriptions. */
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

  /** Answers one message or batch. */
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

  /** Ends its subscriptions and aborts its running calls, because the peer has disconnected. */
  dispose(): void {
    this.#gone.abort();
    this.#subscriptions.close();
  }
}
