/**
 * JSON-RPC over one WebSocket that comes back by itself: each try reads the token anew, because a
 * daemon that was restarted has another one.
 */
import { type ReadonlySignal, signal } from "@preact/signals";
import {
  type Issue,
  type Params,
  type PushedEvent,
  type Result,
  RpcError,
  type SubscribeVerb,
  type VerbName,
} from "./api.ts";
import { ATTEMPT_DEADLINE_MS } from "./connect.ts";

/** `connecting` before the first connection, `offline` when trying has not helped for a while. */
export type ConnectionState = "connecting" | "connected" | "reconnecting" | "offline";

export interface ClientOptions {
  /**
   * Finds the daemon and connects to it; rejects when it does not answer. The socket may be open
   * already.
   */
  connect(signal: AbortSignal): Promise<WebSocket>;
}

/** What takes the events of a subscription. */
export interface Subscriber<N extends SubscribeVerb> {
  /** Asked for at each connection: the last seq changes. */
  params(): Params<N>;
  event(event: PushedEvent): void;
  /** It ended for good: without an error because nothing will follow. */
  ended(error: RpcError | undefined): void;
}

interface Call {
  resolve(result: unknown): void;
  reject(error: RpcError): void;
}

interface ErrorData {
  svc_code?: string;
  hint?: string;
  issues?: Issue[];
}

interface Message {
  id?: number;
  result?: unknown;
  error?: { message: string; data?: ErrorData };
  method?: string;
  params?: unknown;
}

/** What a daemon that is being stopped says; it closes the connection soon. */
const STOPPING = "shutting_down";
const BACKOFF_MIN_MS = 150;
const BACKOFF_MAX_MS = 5_000;
/** Tries in vain after which the person is told; it goes on trying. */
const OFFLINE_AFTER = 7;
const CALL_DEADLINE_MS = 60_000;
/** For installing and uninstalling the service: the unit's daemon has to start, and to answer. */
export const SERVICE_DEADLINE_MS = 5 * 60_000;

export class Client {
  readonly #options: ClientOptions;
  readonly #state = signal<ConnectionState>("connecting");
  readonly #calls = new Map<number, Call>();
  readonly #subscribers = new Map<number, Subscriber<SubscribeVerb>>();
  readonly #resubscribe = new Set<() => void>();
  #connected = Promise.withResolvers<void>();
  #socket: WebSocket | undefined;
  #next_id = 1;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get state(): ReadonlySignal<ConnectionState> {
    return this.#state;
  }

  /** Connects, and stays connected until it is closed. */
  start(): void {
    this.#connect();
  }

  /** Tries again now. */
  retry(): void {
    if (this.#timer === undefined) return;
    this.#failures = 0;
    clearTimeout(this.#timer);
    this.#state.value = "reconnecting";
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  /**
   * Calls a verb; waits for a connection where there is none.
   *
   * @param options.timeout_ms how long to wait, a minute by default.
   * @throws {RpcError} what the daemon answers; `disconnected` when the connection is lost before an
   * answer: it is not known then whether the verb was run. `timeout` when none came in time.
   */
  async call<N extends VerbName>(
    name: N,
    params: Params<N>,
    options: { timeout_ms?: number } = {},
  ): Promise<Result<N>> {
    const { timeout_ms = CALL_DEADLINE_MS } = options;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new RpcError("timeout", `${name}: no answer came in time`)),
      timeout_ms,
    );
    try {
      await Promise.race([this.#connected.promise, late.promise]);
      return await Promise.race([this.#send(name, params), late.promise]) as Result<N>;
    } finally {
      clearTimeout(timer);
    }
  }

  /** As {@linkcode Client.call}, for what may be asked twice: asks again after a lost connection. */
  async ask<N extends VerbName>(name: N, params: Params<N>): Promise<Result<N>> {
    for (;;) {
      try {
        return await this.call(name, params);
      } catch (error) {
        if (!(error instanceof RpcError) || error.code !== "disconnected" || this.#closed) {
          throw error;
        }
      }
      // A socket that is closing refuses at once: asked again without a pause, it would never close.
      await new Promise((resolve) => setTimeout(resolve, BACKOFF_MIN_MS));
    }
  }

  /**
   * Subscribes, and again after each reconnection, after the daemon was stopped, and whenever it
   * closed a subscriber that did not keep up.
   *
   * @returns what ends it.
   */
  subscribe<N extends SubscribeVerb>(name: N, subscriber: Subscriber<N>): () => void {
    let sub: number | undefined;
    let ended = false;
    const end = () => {
      ended = true;
      this.#resubscribe.delete(open);
      if (sub !== undefined) this.#subscribers.delete(sub);
    };
    const open = () => {
      sub = undefined;
      this.#send(name, subscriber.params(), (result) => {
        sub = (result as { sub: number }).sub;
        if (ended) return this.#unsubscribe(sub);
        this.#subscribers.set(sub, {
          params: subscriber.params as Subscriber<SubscribeVerb>["params"],
          event: subscriber.event.bind(subscriber),
          ended: (error) => {
            if (error?.code === "crash_recovery") return open();
            // It follows again with the next connection.
            if (error?.code === STOPPING) return void (sub = undefined);
            end();
            subscriber.ended(error);
          },
        });
      }).catch((error: RpcError) => {
        if (error.code === "disconnected" || error.code === STOPPING || ended) return;
        end();
        subscriber.ended(error);
      });
    };
    this.#resubscribe.add(open);
    if (this.#state.value === "connected") open();
    return () => {
      if (sub !== undefined && !ended) this.#unsubscribe(sub);
      end();
    };
  }

  #unsubscribe(sub: number): void {
    this.#send("session.unsubscribe", { sub }).catch(() => {});
  }

  /** @param onResult called before anything that follows the answer is read. */
  #send(
    method: string,
    params: unknown,
    onResult: (result: unknown) => void = () => {},
  ): Promise<unknown> {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(disconnected());
    const id = this.#next_id++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#calls.set(id, {
      resolve(result) {
        onResult(result);
        resolve(result);
      },
      reject,
    });
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return promise;
  }

  async #connect(): Promise<void> {
    this.#timer = undefined;
    try {
      const socket = await this.#options.connect(AbortSignal.timeout(ATTEMPT_DEADLINE_MS));
      if (this.#closed) return socket.close();
      if (socket.readyState === WebSocket.CLOSED) return this.#lost();
      this.#socket = socket;
      const deadline = setTimeout(() => socket.close(), ATTEMPT_DEADLINE_MS);
      const opened = () => {
        clearTimeout(deadline);
        this.#opened();
      };
      socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
      socket.onclose = () => {
        clearTimeout(deadline);
        this.#lost();
      };
      if (socket.readyState === WebSocket.OPEN) opened();
      else socket.onopen = opened;
    } catch {
      this.#lost();
    }
  }

  #opened(): void {
    this.#failures = 0;
    this.#state.value = "connected";
    this.#connected.resolve();
    for (const open of [...this.#resubscribe]) open();
  }

  #lost(): void {
    if (this.#state.value === "connected") this.#connected = Promise.withResolvers();
    this.#socket = undefined;
    this.#subscribers.clear();
    for (const call of this.#calls.values()) call.reject(disconnected());
    this.#calls.clear();
    if (this.#closed) return;
    this.#failures++;
    this.#state.value = this.#failures > OFFLINE_AFTER
      ? "offline"
      : this.#state.value === "connecting"
      ? "connecting"
      : "reconnecting";
    const most = Math.min(BACKOFF_MIN_MS * 2 ** (this.#failures - 1), BACKOFF_MAX_MS);
    // All pages lose a daemon at once; they must not all come back at once.
    const wait_ms = most * (0.5 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#connect(), wait_ms);
  }

  #receive({ id, result, error, method, params }: Message): void {
    if (method === "$/event") {
      const event = params as PushedEvent;
      this.#subscribers.get(event.sub)?.event(event);
    } else if (method === "$/subscription_ended") {
      const { sub, error } = params as { sub: number; error?: Message["error"] };
      const subscriber = this.#subscribers.get(sub);
      this.#subscribers.delete(sub);
      subscriber?.ended(error && toRpcError(error));
    } else if (id !== undefined) {
      const call = this.#calls.get(id);
      this.#calls.delete(id);
      if (error === undefined) call?.resolve(result);
      else call?.reject(toRpcError(error));
    }
  }
}

function disconnected(): RpcError {
  return new RpcError("disconnected", "lost the connection to the daemon");
}

function toRpcError({ message, data }: NonNullable<Message["error"]>): RpcError {
  return new RpcError(data?.svc_code ?? "internal", message, data?.hint, data?.issues);
}
