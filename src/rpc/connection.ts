import type { Caller, Deliver, Dispatcher, Pushing } from "../verbs/define.ts";
import { answer, eventFrame, subscriptionEndedFrame } from "./codec.ts";

/** Sends one message's text to the peer. A promise is back-pressure. */
export type Send = (text: string) => void | Promise<void>;

/** One long-lived JSON-RPC peer: a socket or WebSocket connection with its subscriptions. */
export class Connection {
  readonly #dispatcher: Dispatcher;
  readonly #via: string;
  readonly #send: Send;
  readonly #gone = new AbortController();
  #subscriptions = new Map<number, Pushing>();
  #next_sub = 1;

  constructor(dispatcher: Dispatcher, via: string, send: Send) {
    this.#dispatcher = dispatcher;
    this.#via = via;
    this.#send = send;
  }

  /** Answers one message or batch. */
  async receive(text: string): Promise<void> {
    const opened: Pushing[] = [];
    const caller: Caller = {
      via: this.#via,
      push: {
        open: (make) => this.#open(make, opened),
        close: (sub) => this.#close(sub),
      },
    };
    const said = await answer(text, this.#dispatcher, caller, this.#gone);
    if (this.#gone.signal.aborted) return;
    if (said !== undefined) await this.#send(said);
    // Events follow the answer that names their subscription.
    for (const subscription of opened) subscription.start();
  }

  /** The peer is gone: its subscriptions end, its running calls are told. */
  dispose(): void {
    this.#gone.abort();
    for (const subscription of this.#subscriptions.values()) subscription.close();
    this.#subscriptions.clear();
  }

  #open(make: (deliver: Deliver) => Pushing, opened: Pushing[]): number {
    const sub = this.#next_sub++;
    const subscription = make({
      event: (event) => this.#send(eventFrame(sub, event)),
      ended: (error) => {
        this.#subscriptions.delete(sub);
        this.#send(subscriptionEndedFrame(sub, error));
      },
    });
    this.#subscriptions.set(sub, subscription);
    opened.push(subscription);
    return sub;
  }

  #close(sub: number): boolean {
    this.#subscriptions.get(sub)?.close();
    return this.#subscriptions.delete(sub);
  }
}
