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

/**
 * `connecting` before the first connection, `silent` when the daemon no longer answers, `offline` when
 * trying has not helped for a while.
 */
export type ConnectionState = "connecting" | "connected" | "silent" | "reconnecting" | "offline";

export interface ClientOptions {
  /**
   * Finds the daemon and connects to it; rejects when it does not answer. The socket may be open
   * already.
   */
  connect(signal: AbortSignal): Promise<WebSocket>;
  /** How often the daemon must be heard, in milliseconds; 3,000 by default. */
  beat_ms?: number;
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
  reason?: string;
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
/** A daemon that was started again is found within two seconds. */
const BACKOFF_MAX_MS = 1_500;
/** Tries in vain after which the person is told, and how long they may take; it goes on trying. */
const OFFLINE_AFTER = 7;
const OFFLINE_AFTER_MS = 20_000;
const BEAT_MS = 3_000;
/** Beats that a silent daemon is waited for before its connection is given up. */
const BEATS_MAX = 5;
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
  /** The connection after this one. */
  #next = Promise.withResolvers<void>();
  #socket: WebSocket | undefined;
  #beat: ReturnType<typeof setInterval> | undefined;
  /** Whether anything came since the last beat. */
  #heard = true;
  /** Beats without a sign of the daemon, although it was asked for one. */
  #missed = 0;
  /** When the connection was lost; undefined while there is one. */
  #lost_at: number | undefined;
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

  get #open(): boolean {
    return this.#state.peek() === "connected" || this.#state.peek() === "silent";
  }

  /**
   * Resolves when code and files may be loaded from the page's address: after a lost connection not
   * before the next one, as another program may have the address.
   */
  whenTrusted(): Promise<void> {
    return this.#state.peek() === "connecting" ? Promise.resolve() : this.#connected.promise;
  }

  /** Connects, and stays connected until it is closed. */
  start(): void {
    this.#connect();
  }

  /** Tries again now. */
  retry(): void {
    if (this.#timer === undefined) return;
    this.#failures = 0;
    this.#lost_at = undefined;
    clearTimeout(this.#timer);
    this.#state.value = "reconnecting";
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearInterval(this.#beat);
    this.#socket?.close();
  }

  /**
   * Calls a verb; waits for a connection where there is none. What a daemon that is being stopped
   * refuses is sent to the next one.
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
    let why = new RpcError("timeout", `${name}: no answer came in time`);
    const timer = setTimeout(() => late.reject(why), timeout_ms);
    const inTime = <T>(promise: Promise<T>) => Promise.race([promise, late.promise]);
    try {
      for (;;) {
        await inTime(this.#connected.promise);
        const next = this.#next.promise;
        try {
          return await inTime(this.#send(name, params)) as Result<N>;
        } catch (error) {
          if (!(error instanceof RpcError) || error.code !== STOPPING || error === why) throw error;
          why = error;
        }
        await inTime(next);
      }
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
    if (this.#open) open();
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
    this.#failures = this.#missed = 0;
    this.#heard = true;
    this.#lost_at = undefined;
    this.#beat = setInterval(() => this.#listen(), this.#options.beat_ms ?? BEAT_MS);
    this.#state.value = "connected";
    this.#connected.resolve();
    this.#next.resolve();
    this.#next = Promise.withResolvers();
    for (const open of [...this.#resubscribe]) open();
  }

  /** Notices a daemon that hangs: its connection stays open, and nothing comes. */
  #listen(): void {
    // Timers of a page that nobody looks at come late, and together.
    if (globalThis.document?.visibilityState === "hidden") this.#heard = true;
    this.#missed = this.#heard ? 0 : this.#missed + 1;
    this.#heard = false;
    if (this.#missed > BEATS_MAX) {
      const socket = this.#socket!;
      // A peer that hangs does not answer a close either.
      socket.onmessage = socket.onclose = null;
      socket.close();
      return this.#lost();
    }
    if (this.#missed > 0) this.#state.value = "silent";
    this.#send("daemon.health", {}).catch(() => {});
  }

  #lost(): void {
    if (this.#open) this.#connected = Promise.withResolvers();
    clearInterval(this.#beat);
    this.#lost_at ??= performance.now();
    this.#socket = undefined;
    this.#subscribers.clear();
    for (const call of this.#calls.values()) call.reject(disconnected());
    this.#calls.clear();
    if (this.#closed) return;
    this.#failures++;
    const too_long = performance.now() - this.#lost_at > OFFLINE_AFTER_MS;
    this.#state.value = this.#failures > OFFLINE_AFTER || too_long
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
    this.#heard = true;
    if (this.#state.value === "silent") this.#state.value = "connected";
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
  return new RpcError(data?.svc_code ?? "internal", message, data?.hint, data);
}
