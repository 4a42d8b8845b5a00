import type { SvcError } from "../protocol/errors.ts";
import type { Deliver, PushChannel, Pushed, Pushing } from "./define.ts";

interface PushPeer {
  /** Takes an event of subscription `sub`. A returned promise delays the next one. */
  event(sub: number, event: Pushed): void | Promise<void>;
  /** A subscription ended by itself, without an error if its session ended. */
  ended(sub: number, error: SvcError | undefined): void;
}

/** A peer's subscriptions, numbered from 1. */
export class Subscriptions {
  readonly #peer: PushPeer;
  #open = new Map<number, Pushing>();
  #next_sub = 1;

  constructor(peer: PushPeer) {
    this.#peer = peer;
  }

  /** The channel of one call. Its subscriptions deliver nothing before `start`. */
  channel(): PushChannel & { start(): void } {
    const opened: Pushing[] = [];
    return {
      open: (make) => {
        const sub = this.#next_sub++;
        const subscription = make(this.#deliver(sub));
        this.#open.set(sub, subscription);
        opened.push(subscription);
        return sub;
      },
      close: (sub) => {
        this.#open.get(sub)?.close();
        return this.#open.delete(sub);
      },
      start: () => {
        for (const subscription of opened) subscription.start();
      },
    };
  }

  close(): void {
    for (const subscription of this.#open.values()) subscription.close();
    this.#open.clear();
  }

  #deliver(sub: number): Deliver {
    return {
      event: (event) => this.#peer.event(sub, event),
      ended: (error) => {
        this.#open.delete(sub);
        this.#peer.ended(sub, error);
      },
    };
  }
}
