/** The way to the daemon's verbs: it comes back after a restart, and no event is missed. */
import { SvcError } from "../protocol/errors.ts";
import type { Args, Result, VerbName } from "../features/verb_types.ts";
import type { EventParams, RpcClient } from "../client/rpc.ts";

/** A subscriber that the daemon closed because it did not keep up begins again where it was. */
const NOT_KEPT_UP = "crash_recovery";

interface LinkOptions {
  /**
   * Connects to the daemon that runs, or brings one.
   *
   * @param again whether there was one before, which may be restarting.
   */
  connect(again: boolean): Promise<RpcClient>;
  onEvent(event: EventParams): void;
  /** Whether someone waits for events, so that a lost connection is made again at once. */
  awaited(): boolean;
  /** It could not be made again. */
  onLost(error: unknown): void;
}

export class DaemonLink {
  readonly #options: LinkOptions;
  /** The last seq that was seen of each session that is followed. */
  readonly #seen = new Map<string, number>();
  #rpc: Promise<RpcClient> | undefined;
  #had_one = false;
  #closed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Calls a verb. @throws {SvcError} what the daemon answers, or that it was lost meanwhile. */
  async call<N extends VerbName>(method: N, ...params: Args<N>): Promise<Result<N>> {
    return await (await this.#connected()).call(method, ...params);
  }

  /** As {@linkcode DaemonLink.call}, for a verb that is known only at run time. */
  async ask(method: string, params: Record<string, unknown>): Promise<unknown> {
    return await (await this.#connected()).ask(method, params);
  }

  /** Has a session's events after a seq pushed, from now on and over every connection. */
  async follow(session_id: string, since_seq: number): Promise<void> {
    const rpc = await this.#connected();
    this.#seen.set(session_id, since_seq);
    await this.#subscribe(rpc, session_id);
  }

  /** Lets a session be. */
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
      // Who calls is told; the next one tries again.
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
      // A connection that breaks is followed by another one, which subscribes again.
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
