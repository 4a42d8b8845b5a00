/** A connection to the daemon's verbs that survives restarts without missing events. */
import { SvcError } from "../protocol/errors.ts";
import type { Args, Result, VerbName } from "../features/verb_types.ts";
import type { EventParams, RpcClient } from "../client/rpc.ts";

/** The daemon ended a subscription that was too slow; it is resumed. */
const NOT_KEPT_UP = "crash_recovery";

interface LinkOptions {
  /**
   * Connects to the daemon, or starts it.
   * @param again whether there was one before, which may be restarting
   */
  connect(again: boolean): Promise<RpcClient>;
  onEvent(event: EventParams): void;
  /** Whether to reconnect at once, because someone waits for events. */
  awaited(): boolean;
  /** Reconnecting failed. */
  onLost(error: unknown): void;
}

export class DaemonLink {
  readonly #options: LinkOptions;
  /** The last seq received, by followed session. */
  readonly #seen = new Map<string, number>();
  #rpc: Promise<RpcClient> | undefined;
  #had_one = false;
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** @throws {SvcError} the daemon's error, or that the connection was lost */
  async call<N extends VerbName>(method: N, ...params: Args<N>): Promise<Result<N>> {
    return await (await this.#connected()).call(method, ...params);
  }

  /**
   * Calls a verb that takes effect once however often it is called: asks the next daemon, too, when
   * this one stops or crashes before it answers.
   */
  async deliver<N extends VerbName>(
    method: N,
    params: Record<string, unknown>,
  ): Promise<Result<N>> {
    while (true) {
      const rpc = await this.#connected();
      try {
        return await rpc.ask(method, params) as Result<N>;
      } catch (error) {
        const stops = error instanceof SvcError && error.code === "shutting_down";
        if (this.#closed || !rpc.lost && !stops) throw error;
        await rpc.closed;
      }
    }
  }

  /** Subscribes to a session's events after a seq, also after reconnecting. */
  async follow(session_id: string, since_seq: number): Promise<void> {
    const rpc = await this.#connected();
    this.#seen.set(session_id, since_seq);
    await this.#subscribe(rpc, session_id);
  }

  forget(session_id: string): void {
    this.#seen.delete(session_id);
  }

  close(): void {
    this.#closed = true;
    this.#rpc?.then((rpc) => rpc.close(), () => {});
  }

  #connected(): Promise<RpcClient> {
    if (this.#rpc === undefined) {
      this.#rpc = this.#connect();
      // The caller gets the error; the next call tries again.
      this.#rpc.catch(() => this.#rpc = undefined);
    }
    return this.#rpc;
  }

  async #connect(): Promise<RpcClient> {
    const rpc = await this.#options.connect(this.#had_one);
    this.#had_one = true;
    rpc.onEvent = (event) => {
      const seen = this.#seen.get(event.session_id);
      if (seen === undefined || event.seq <= seen) return;
      this.#seen.set(event.session_id, event.seq);
      this.#options.onEvent(event);
    };
    rpc.onSubscriptionEnded = (error) => {
      if (error?.code === NOT_KEPT_UP) this.#subscribeAll(rpc).catch(this.#options.onLost);
    };
    try {
      await this.#subscribeAll(rpc);
    } catch (error) {
      rpc.close();
      throw error;
    }
    rpc.closed.then(() => {
      this.#rpc = undefined;
      if (this.#closed || !this.#options.awaited()) return;
      this.#connected().catch(this.#options.onLost);
    });
    return rpc;
  }

  async #subscribeAll(rpc: RpcClient): Promise<void> {
    await Promise.all([...this.#seen.keys()].map((id) => this.#subscribe(rpc, id)));
  }

  async #subscribe(rpc: RpcClient, session_id: string): Promise<void> {
    const since_seq = this.#seen.get(session_id);
    try {
      await rpc.call("session.subscribe", { session_id, since_seq, deltas: "session" });
    } catch (error) {
      // The next connection subscribes again.
      if (rpc.lost) return;
      if (!(error instanceof SvcError && error.code === "journal_trimmed")) throw error;
      const { current_seq } = await rpc.call("session.subscribe", {
        session_id,
        deltas: "session",
      });
      this.#seen.set(session_id, current_seq);
    }
  }
}
