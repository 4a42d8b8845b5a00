/** Clients written from the contract alone: JSON-RPC on the socket and the WebSocket, and SSE. */
import { deadline } from "@std/async";
import { TextLineStream } from "@std/streams";
import { writeAll } from "../../src/base/write_all.ts";

// deno-lint-ignore no-explicit-any -- tests look at what they expect
export type Json = any;

/** The params of a `$/event` notification. */
export interface PushedEvent {
  sub: number;
  session_id: string;
  seq: number;
  at: string;
  type: string;
  data: Json;
}

/** An error answer of JSON-RPC. */
export class RpcFailure extends Error {
  constructor(readonly code: number, message: string, readonly data: Json) {
    super(`${code} ${message}`);
  }
}

/** How long a client waits for what has to come. */
const PATIENCE_MS = 60_000;
/** As long as a stream may be silent: a test that waits for ever takes all others with it. */
const EVENT_MS = 60_000;

/** JSON-RPC over something that carries texts. */
export abstract class JsonRpc implements AsyncDisposable {
  /** Every message that came, parsed, in order. */
  readonly messages: Json[] = [];
  #watchers = new Set<() => void>();
  #last_id = 0;
  #ended = false;

  /** Sends one text as it is. */
  abstract send(text: string): Promise<void>;
  abstract close(): void;
  /** Resolves when the connection is gone. */
  abstract readonly closed: Promise<void>;

  /** The events pushed so far. */
  get events(): PushedEvent[] {
    return this.messages.filter(({ method }) => method === "$/event").map(({ params }) => params);
  }

  /** Calls a method. @throws {RpcFailure} for an error answer. */
  async call(method: string, params: Json = {}): Promise<Json> {
    const { error, result } = await this.ask({ method, params });
    if (error) throw new RpcFailure(error.code, error.message, error.data);
    return result;
  }

  /** The error answer that a call gets. @throws when it succeeds. */
  async fails(method: string, params: Json = {}): Promise<RpcFailure> {
    const { error, result } = await this.ask({ method, params });
    if (error) return new RpcFailure(error.code, error.message, error.data);
    throw new Error(`${method} did not fail: ${JSON.stringify(result)}`);
  }

  /** Sends a request, given an id unless it has one, and resolves with the whole answer. */
  async ask(request: Json): Promise<Json> {
    const whole = { jsonrpc: "2.0", id: ++this.#last_id, ...request };
    const from = this.messages.length;
    await this.send(JSON.stringify(whole));
    return await this.message(
      (it, at) => at >= from && it.method === undefined && it.id === whole.id,
      `an answer to ${whole.method}`,
    );
  }

  /** Sends a notification. */
  async notify(method: string, params: Json = {}): Promise<void> {
    await this.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  /** The first message, past or future, that fits. */
  async message(
    fits: (message: Json, at: number) => boolean,
    what = "a message",
    timeout_ms = PATIENCE_MS,
  ): Promise<Json> {
    const found = Promise.withResolvers<Json>();
    let looked = 0;
    const look = () => {
      for (; looked < this.messages.length; looked++) {
        if (fits(this.messages[looked], looked)) return found.resolve(this.messages[looked]);
      }
      if (this.#ended) found.reject(new Error(`the connection ended before ${what}`));
    };
    this.#watchers.add(look);
    const timer = setTimeout(() => {
      const last = this.events.slice(-8).map(({ seq, type }) => `${seq} ${type}`).join(", ");
      found.reject(new Error(`${what} did not come in ${timeout_ms} ms; last events: ${last}`));
    }, timeout_ms);
    try {
      look();
      return await found.promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(look);
    }
  }

  /** The first event, past or future, that fits. */
  async event(
    fits: (event: PushedEvent) => boolean,
    what = "an event",
    timeout_ms?: number,
  ): Promise<PushedEvent> {
    const { params } = await this.message(
      (it) => it.method === "$/event" && fits(it.params),
      what,
      timeout_ms,
    );
    return params;
  }

  /** Starts a session and subscribes to it from its first event. */
  async session(params: Json): Promise<string> {
    const { session_id } = await this.call("session.start", params);
    await this.call("session.subscribe", { session_id, since_seq: 0 });
    return session_id;
  }

  /** Sends a message and resolves with the end of its turn. */
  async turn(session_id: string, text: string): Promise<PushedEvent> {
    const { seq } = await this.call("session.send", { session_id, text });
    return await this.event(
      (it) => it.session_id === session_id && it.type === "turn.completed" && it.seq > seq,
      "turn.completed",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.closed;
  }

  protected received(text: string): void {
    this.messages.push(JSON.parse(text));
    for (const look of [...this.#watchers]) look();
  }

  protected ended(): void {
    this.#ended = true;
    for (const look of [...this.#watchers]) look();
  }
}

/** A client of the local socket: one message a line. */
export class SocketClient extends JsonRpc {
  readonly closed: Promise<void>;
  readonly #conn: Deno.UnixConn;
  #open = true;

  private constructor(conn: Deno.UnixConn) {
    super();
    this.#conn = conn;
    this.closed = this.#read();
  }

  static async connect(path: string): Promise<SocketClient> {
    return new SocketClient(await Deno.connect({ transport: "unix", path }));
  }

  async send(text: string): Promise<void> {
    await writeAll(this.#conn, new TextEncoder().encode(text + "\n"));
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    try {
      this.#conn.close();
    } catch {
      // The other end was faster; the stream has closed this one.
    }
  }

  async #read(): Promise<void> {
    try {
      const lines = this.#conn.readable
        .pipeThrough(new TextDecoderStream())
        .pipeThrough(new TextLineStream());
      for await (const line of lines) if (line !== "") this.received(line);
      // The other end closed; the stream has closed this one.
      this.#open = false;
    } catch (error) {
      // A daemon that ends before it has read everything resets the connection.
      if (this.#open && !(error instanceof Deno.errors.ConnectionReset)) throw error;
    } finally {
      this.ended();
    }
  }
}

/** A client of the WebSocket. */
export class WsClient extends JsonRpc {
  readonly closed: Promise<void>;
  /** The subprotocol that the server chose. */
  readonly protocol: string;
  /** How the connection was closed, once it is. */
  ending: { code: number; reason: string } | undefined;
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket, closed: Promise<CloseEvent>) {
    super();
    this.#socket = socket;
    this.protocol = socket.protocol;
    socket.onmessage = ({ data }) => this.received(data);
    this.closed = closed.then(({ code, reason }) => {
      this.ending = { code, reason };
      this.ended();
    });
  }

  /** Connects with the token. @throws when the upgrade is refused. */
  static async connect(
    port: number,
    token: string,
    { path = "/", more = [] }: { path?: string; more?: string[] } = {},
  ): Promise<WsClient> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, ["svc.bearer", token, ...more]);
    const closed = Promise.withResolvers<CloseEvent>();
    const open = Promise.withResolvers<void>();
    socket.onopen = () => open.resolve();
    socket.onerror = () => open.reject(new Error("the WebSocket was refused"));
    socket.onclose = closed.resolve;
    await open.promise;
    return new WsClient(socket, closed.promise);
  }

  send(text: string): Promise<void> {
    this.#socket.send(text);
    return Promise.resolve();
  }

  close(): void {
    this.#socket.close();
  }
}

/** One event of an SSE stream, its fields as they came. */
export interface SseEvent {
  id?: string;
  event?: string;
  data?: string;
}

/** A reader of a session's SSE stream. */
export class SseReader implements AsyncDisposable {
  readonly response: Response;
  /** What came so far. */
  readonly events: SseEvent[] = [];
  readonly #abort: AbortController;
  readonly #events: AsyncGenerator<SseEvent>;

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#events = parseSse(response.body!);
  }

  static async open(url: string, headers: HeadersInit = {}): Promise<SseReader> {
    const abort = new AbortController();
    const response = await fetch(url, {
      headers: { accept: "text/event-stream", ...Object.fromEntries(new Headers(headers)) },
      signal: abort.signal,
    });
    if (response.ok) return new SseReader(response, abort);
    throw new Error(`SSE answered ${response.status}: ${await response.text()}`);
  }

  /** The next event; undefined when the stream ends. */
  async next(): Promise<SseEvent | undefined> {
    const { value, done } = await deadline(this.#events.next(), EVENT_MS);
    if (done) return undefined;
    this.events.push(value);
    return value;
  }

  /** Reads on until an event of that type. */
  async until(type: string): Promise<SseEvent> {
    for (let event; (event = await this.next()) !== undefined;) {
      if (event.event === type) return event;
    }
    throw new Error(`the stream ended before ${type}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#events.return(undefined).catch(() => {});
  }
}

async function* parseSse(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<SseEvent> {
  let event: SseEvent = {};
  const lines = body.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) {
    if (line === "") {
      if (event.data !== undefined) yield event;
      event = {};
      continue;
    }
    const [, name, value] = line.match(/^([^:]*)(?:: ?(.*))?$/)!;
    if (name === "data") {
      event.data = event.data === undefined ? value : `${event.data}\n${value}`;
    } else if (name === "id" || name === "event") event[name] = value;
  }
}
