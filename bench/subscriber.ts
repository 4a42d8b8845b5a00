/** A client on the local socket that follows turns. */
import { type EventParams, RpcClient } from "../src/client/rpc.ts";
import type { Daemon } from "../tests/support/svc.ts";

/** When a turn's parts reached the subscriber, in ms since its message was sent. */
export interface TurnTimes {
  first_delta: number;
  total: number;
  /** How many events its text came in. */
  deltas: number;
}

interface Following {
  sent: number;
  first_delta?: number;
  deltas: number;
  done: PromiseWithResolvers<TurnTimes>;
}

const TURN_MS_MAX = 60_000;

export class Subscriber implements Disposable {
  readonly #rpc: RpcClient;
  #following = new Map<string, Following>();
  /** Called with each event as it arrives. */
  onEvent: (event: EventParams) => void = () => {};

  private constructor(rpc: RpcClient) {
    this.#rpc = rpc;
    rpc.onEvent = (event) => this.#take(event);
  }

  static async connect(daemon: Daemon): Promise<Subscriber> {
    const conn = await Deno.connect({ transport: "unix", path: daemon.sock });
    return new Subscriber(new RpcClient(conn));
  }

  /** Starts a session and subscribes as the chat does. */
  async session(params: Record<string, unknown>): Promise<string> {
    const { session_id } = await this.#rpc.call("session.start", params);
    await this.#rpc.call("session.subscribe", { session_id, deltas: "session" });
    return session_id;
  }

  /** Sends a message; resolves when its turn has ended. */
  async turn(session_id: string, text: string): Promise<TurnTimes> {
    const done = Promise.withResolvers<TurnTimes>();
    this.#following.set(session_id, { sent: performance.now(), deltas: 0, done });
    const timer = setTimeout(
      () => done.reject(new Error(`a turn took longer than ${TURN_MS_MAX} ms`)),
      TURN_MS_MAX,
    );
    try {
      await this.#rpc.call("session.send", { session_id, text });
      return await done.promise;
    } finally {
      clearTimeout(timer);
      this.#following.delete(session_id);
    }
  }

  [Symbol.dispose](): void {
    this.#rpc.close();
  }

  #take(event: EventParams): void {
    this.onEvent(event);
    const turn = this.#following.get(event.session_id);
    if (turn === undefined) return;
    if (event.type === "session.delta") {
      turn.first_delta ??= performance.now() - turn.sent;
      turn.deltas++;
    }
    if (event.type !== "turn.completed") return;
    const total = performance.now() - turn.sent;
    const { stop_reason, error } = event.data;
    const { first_delta = total, deltas } = turn;
    if (stop_reason === "ok") turn.done.resolve({ first_delta, total, deltas });
    else turn.done.reject(new Error(`a turn ended with ${stop_reason}: ${error}`));
  }
}
