/** MCP over streamable HTTP. Clients open a session with `initialize`; DELETE or disuse ends it. */
import * as z from "zod";
import { Opener } from "../../base/lazy.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Dispatcher } from "../../verbs/define.ts";
import { type CatalogChoice, catalogChoiceSchema } from "../../protocol/schemas/mcp.ts";
import type { Catalogs } from "./catalog.ts";
import { EventLog } from "./event_log.ts";
import { Outgoing } from "./outgoing.ts";
import { WebStandardStreamableHTTPServerTransport as SdkTransport } from "../../sdk/mcp_server.ts";
import { LAST_WITH_SESSIONS } from "./line_entry.ts";
import { asJson, type HttpMessage, readHttp } from "./http_message.ts";
import { McpServer } from "./server.ts";
import type { StatelessHandler } from "./stateless.ts";

export interface McpHttpOptions {
  dispatcher: Dispatcher;
  catalogs: Catalogs;
  /** Bytes. */
  body_max: number;
  /** Ends a session without requests or listeners. */
  idle_ms?: number;
  /** A new session replaces the one that was idle longest. */
  sessions_max?: number;
}

const IDLE_MS = 60 * 60_000;
const SESSIONS_MAX = 64;
/** More unread bytes stop notifications. */
const PUSH_UNREAD_MAX = 256 * 1024;
/** More unread bytes refuse further requests. */
const UNREAD_MAX = 16 * 1024 * 1024;
/** Delay of a client's reconnection, milliseconds. */
const RETRY_MS = 1_000;

const SESSION_HEADER = "mcp-session-id";
const VERSION_HEADER = "mcp-protocol-version";
const QUERY = catalogChoiceSchema().extend({ safe_names: z.stringbool().optional() });

export class McpHttp {
  readonly #options: McpHttpOptions;
  readonly #stateless: Opener<StatelessHandler>;
  #sessions = new Map<string, HttpSession>();
  #sweeping: number | undefined;

  constructor(options: McpHttpOptions) {
    this.#options = options;
    this.#stateless = new Opener(async () => {
      const { statelessHandler } = await import("./stateless.ts");
      const choiceOf = (url: string) => catalogChoice(new URL(url).searchParams);
      return statelessHandler({ ...options, choiceOf });
    });
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * Answers an accepted request.
   *
   * @throws {SvcError} validation; not_found for an ended session; conflict when no more can be
   * opened; budget_exceeded when the client leaves too much unread
   */
  async handle(request: Request): Promise<Response> {
    const id = request.headers.get(SESSION_HEADER);
    const session = id === null ? undefined : this.#find(id);
    session?.requireRoom(request.method);
    const read = await readHttp(request, this.#options.body_max);
    if (read instanceof Response) return read;
    const response = await this.#answer(read, session);
    const streamed = response.headers.get("content-type") === "text/event-stream";
    return read.json_only && streamed ? await asJson(response) : response;
  }

  async #answer(read: HttpMessage, session: HttpSession | undefined): Promise<Response> {
    const { request, posted } = read;
    if (session !== undefined) return await session.handle(request, posted);
    if ((request.headers.get(VERSION_HEADER) ?? "") > LAST_WITH_SESSIONS) {
      catalogChoice(new URL(request.url).searchParams);
      const body = posted === undefined ? undefined : JSON.stringify(posted);
      return await (await this.#stateless.get()).fetch(new Request(request, { body }));
    }
    if (request.method !== "POST") {
      throw new SvcError("validation", `the header Mcp-Session-Id is required`, {
        hint: "the answer to initialize contains it",
      });
    }
    return await this.#initialize(request, posted);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#stateless.opened?.then((it) => it.close());
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
  }

  #find(id: string): HttpSession {
    const session = this.#sessions.get(id);
    if (session !== undefined) return session;
    throw new SvcError("not_found", "unknown MCP session", {
      hint: "it has ended, was idle for too long, or the daemon was restarted; initialize again",
    });
  }

  async #initialize(request: Request, posted: HttpMessage["posted"]): Promise<Response> {
    const choice = catalogChoice(new URL(request.url).searchParams);
    this.#makeRoom();
    const session: HttpSession = await HttpSession.open({
      ...this.#options,
      choice,
      onOpened: (id) => void this.#sessions.set(id, session),
      onClosed: (id) => void this.#sessions.delete(id),
    });
    const response = await session.handle(request, posted);
    if (session.id === undefined) await session.close();
    else this.#sweeping ??= this.#scheduleSweep();
    return response;
  }

  /** @throws {SvcError} conflict when all sessions are in use */
  #makeRoom(): void {
    const { sessions_max = SESSIONS_MAX } = this.#options;
    if (this.#sessions.size < sessions_max) return;
    const idle = [...this.#sessions.values()].filter((session) => !session.busy);
    if (idle.length === 0) {
      throw new SvcError("conflict", `all ${sessions_max} MCP sessions are in use`, {
        hint: "end one: DELETE /mcp with its Mcp-Session-Id",
      });
    }
    idle.reduce((a, b) => a.used_at <= b.used_at ? a : b).close();
  }

  #scheduleSweep(): number {
    const { idle_ms = IDLE_MS } = this.#options;
    const timer = setInterval(() => {
      const since = performance.now() - idle_ms;
      for (const session of this.#sessions.values()) {
        if (!session.busy && session.used_at < since) session.close();
      }
    }, idle_ms / 4);
    Deno.unrefTimer(timer);
    return timer;
  }
}

interface HttpSessionOptions extends Pick<McpHttpOptions, "dispatcher" | "catalogs" | "body_max"> {
  choice: CatalogChoice;
  onOpened(id: string): void;
  onClosed(id: string): void;
}

class HttpSession {
  readonly #transport: SdkTransport;
  readonly #log: EventLog;
  #server: McpServer | undefined;
  /** Answers and streams in progress. */
  #bodies = new Set<Outgoing>();
  /** Streams with notifications. */
  #streams = new Set<Outgoing>();
  #waiting: (() => void)[] = [];
  #closed = false;
  /** Time of the last request, by a monotonic clock. */
  used_at = performance.now();

  private constructor(transport: SdkTransport, log: EventLog) {
    this.#transport = transport;
    this.#log = log;
  }

  static async open(options: HttpSessionOptions): Promise<HttpSession> {
    const { dispatcher, catalogs, choice, body_max, onOpened, onClosed } = options;
    const log = new EventLog();
    const transport = new SdkTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      eventStore: log,
      retryInterval: RETRY_MS,
      maxRequestBodySize: body_max,
      onsessioninitialized: onOpened,
    });
    const session = new HttpSession(transport, log);
    session.#server = await McpServer.serve({
      dispatcher,
      catalogs,
      choice,
      transport,
      pressure: () => session.#pressure(),
      onClosed: () => {
        session.#closed = true;
        session.#changed();
        if (session.id !== undefined) onClosed(session.id);
      },
    });
    return session;
  }

  /** Set once initialized. */
  get id(): string | undefined {
    return this.#transport.sessionId;
  }

  get busy(): boolean {
    return this.#bodies.size > 0;
  }

  /** @throws {SvcError} budget_exceeded when the client leaves too much unread */
  requireRoom(method: string): void {
    if (method !== "POST" || this.#unread(this.#bodies) <= UNREAD_MAX) return;
    throw new SvcError("budget_exceeded", "this MCP session has too much unread data", {
      hint: "read the pending answers and streams before you send more requests",
    });
  }

  async handle(request: Request, parsedBody: HttpMessage["posted"]): Promise<Response> {
    this.used_at = performance.now();
    const last_event = request.headers.get("last-event-id");
    if (last_event && this.#log.endsStream(last_event)) {
      // Some clients reconnect after every answer; only an error stops them.
      throw new SvcError("ended", "this stream has ended and was delivered completely");
    }
    const response = await this.#transport.handleRequest(request, { parsedBody });
    if (response.headers.get("content-type") !== "text/event-stream") return response;
    const { status, headers } = response;
    return new Response(this.#track(response.body!, request.method === "GET"), { status, headers });
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  #track(source: ReadableStream<Uint8Array>, carries_pushed: boolean): ReadableStream<Uint8Array> {
    const body = new Outgoing(source, () => {
      if (body.closed) {
        this.#bodies.delete(body);
        this.#streams.delete(body);
        this.used_at = performance.now();
      }
      this.#changed();
    });
    this.#bodies.add(body);
    if (carries_pushed) this.#streams.add(body);
    this.#changed();
    return body.readable;
  }

  /** Waits while there is no listener, or too much is unread. */
  #pressure(): Promise<void> | undefined {
    if (this.#takesMore()) return undefined;
    return this.#untilItTakesMore();
  }

  async #untilItTakesMore(): Promise<void> {
    while (!this.#takesMore()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #takesMore(): boolean {
    if (this.#closed) return true;
    return this.#streams.size > 0 && this.#unread(this.#streams) <= PUSH_UNREAD_MAX;
  }

  #unread(bodies: Iterable<Outgoing>): number {
    let unread = 0;
    for (const body of bodies) unread += body.unread;
    return unread;
  }

  #changed(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** @throws {SvcError} validation */
function catalogChoice(query: URLSearchParams): CatalogChoice {
  const parsed = QUERY.safeParse(Object.fromEntries(query));
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues;
  throw new SvcError("validation", `/mcp: ${path.join(".")}: ${message}`);
}
