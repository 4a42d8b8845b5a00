/**
 * One tool server, shared by its users: connected on first use, stopped when idle, and left alone
 * for a while after repeated failures.
 */
import { abortable, deadline } from "@std/async";
import { formatDuration } from "../../base/duration.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import { Semaphore } from "../../base/semaphore.ts";
import type { Clock } from "../../base/clock.ts";
import { Breaker, type Verdict } from "./breaker.ts";
import type { Connection, Target } from "./connection.ts";
import { AnsweredError, ForgottenError } from "./errors.ts";
import { Link, withinLimit } from "./link.ts";
import { type Listed, maskStrings, readTools, type RemoteTool } from "./listing.ts";
import type { ServerEntry } from "./policy.ts";
import type { CallResult } from "./result.ts";
import { StderrLog } from "./stderr.ts";

export interface ServerParts {
  entry: ServerEntry;
  /** Returns where it is, with its credentials; called at each start. */
  target(): Promise<Target>;
  mask(text: string): string;
  clock: Clock;
  log: Log;
}

export interface CallOptions {
  signal: AbortSignal;
  /** Whether svc may answer the server's questions during the call with their defaults. */
  answer_forms: boolean;
}

export interface Tested {
  latency_ms: number;
  server: { name: string; version: string };
  tools: number;
}

/**
 * Pause after a failed listing of tools. No longer than the breaker stays open, which decides from
 * the fifth failure on.
 */
const RELIST_AFTER_MS = 10_000;
/**
 * The shortest time limit for a start: npx may first download a program, which would never finish
 * if it were ended.
 */
const START_MIN_MS = 5 * 60_000;
/** How long a turn waits for the tools of a server that does not answer. */
const TURN_WAIT_MS = 2_000;

/** How long to wait for a list of tools: a moment, or the server's limit. */
export type Patience = "moment" | "limit";

/** An attempt to list the tools, shared by all callers. */
interface Listing {
  tools: Promise<Listed<RemoteTool>>;
  /** When it began, by a monotonic clock. */
  since: number;
}

export class ExternalServer {
  readonly entry: ServerEntry;
  readonly #parts: ServerParts;
  readonly #slots: Semaphore;
  readonly breaker: Breaker;
  readonly #stderr: StderrLog;
  readonly #link: Link;
  #tools: Listed<RemoteTool> | undefined;
  /** Whether the tools may have changed since they were listed. */
  #stale = true;
  #listing: Listing | undefined;
  /** Whether it did not answer within a moment last time. */
  #silent = false;
  /** Why its tools could not be listed, if so. */
  #unlisted: unknown;
  /** Whether it is too early to list them again. */
  #relist_waits = false;
  #calls = new Set<Pick<CallOptions, "answer_forms">>();
  #stopIdleTimer = () => {};
  #stopRelistTimer = () => {};
  #retired = false;
  readonly #retiring = new AbortController();

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.entry = parts.entry;
    this.#slots = new Semaphore(parts.entry.max_concurrent);
    const timeout_ms = Math.max(parts.entry.timeout_ms, START_MIN_MS);
    this.#link = new Link({ timeout_ms, open: (...args) => this.#reconnect(...args) });
    this.breaker = new Breaker(parts.clock, () => this.#drop());
    this.#stderr = new StderrLog(parts.entry.name, parts.log, parts.mask);
  }

  /** Masks its credentials in a text. */
  mask(text: string): string {
    return this.#parts.mask(text);
  }

  /** Whether it is running or connected. */
  get connected(): boolean {
    return this.#link.live;
  }

  /** Whether it was retired and nothing is left of it. */
  get done(): boolean {
    return this.#retired && this.#calls.size === 0 && !this.#link.busy;
  }

  /** Its tools as last listed. */
  get remembered(): readonly RemoteTool[] | undefined {
    return this.#tools?.tools;
  }

  /**
   * Returns its tools: the known list, or a new one if that is missing or out of date. Listing
   * continues after a caller gives up.
   *
   * @throws {SvcError} internal or timeout if they cannot be listed; for a while after that without
   * another attempt
   */
  async tools(signal: AbortSignal, patience: Patience): Promise<Listed<RemoteTool>> {
    const left_alone = this.#relist_waits || ["open", "probing"].includes(this.breaker.state);
    if (this.#unlisted !== undefined && left_alone) throw this.#unlisted;
    if (this.#tools !== undefined && !this.#stale) return this.#tools;
    const { tools } = this.#listing ??= this.#beginListing();
    try {
      return await abortable(deadline(tools, this.#wait_ms(patience)), signal);
    } catch (error) {
      const late = error instanceof DOMException && error.name === "TimeoutError";
      if (!late) throw error;
      return this.#late(patience);
    }
  }

  #beginListing(): Listing {
    const tools = this.#list().finally(() => this.#listing = undefined);
    // Nobody may be waiting when it fails.
    tools.catch(() => {});
    return { tools, since: performance.now() };
  }

  /** Returns how much longer to wait: all steps of a turn wait together. */
  #wait_ms(patience: Patience): number {
    if (patience === "moment" && this.#silent) return 0;
    const most = patience === "moment" ? TURN_WAIT_MS : this.entry.timeout_ms;
    return Math.max(0, this.#listing!.since + most - performance.now());
  }

  /** @throws {SvcError} timeout, unless an earlier list can be used */
  #late(patience: Patience): Listed<RemoteTool> {
    if (patience === "limit") {
      const limit = formatDuration(this.entry.timeout_ms);
      throw this.#told(new SvcError("timeout", `it did not answer within ${limit}`));
    }
    this.#silent = true;
    if (this.#tools !== undefined && this.connected) return this.#tools;
    throw this.#unlisted ??
      this.#told(new SvcError("timeout", "it has not answered yet; its tools follow when it has"));
  }

  async #list(): Promise<Listed<RemoteTool>> {
    const signal = AbortSignal.any([this.#link.ended, this.#retiring.signal]);
    try {
      const list = async (signal: AbortSignal) => {
        const connection = await abortable(this.#connect(), signal);
        const ask = (connection: Connection) => {
          this.#stale = false;
          return this.#limited(signal, (limited) => connection.listTools(limited));
        };
        return await this.#repeated(connection, ask, signal);
      };
      // A server that fails all calls may still list its tools before each one.
      const answers = await this.#use({ signal, answer_forms: false }, list, "nothing");
      this.#silent = false;
      return this.#tools = readTools(answers, (text) => this.mask(text));
    } catch (error) {
      this.#stale = true;
      this.#unlisted = error;
      if (this.breaker.state === "closed") {
        this.#relist_waits = true;
        const retry = () => this.#relist_waits = false;
        this.#stopRelistTimer = this.#parts.clock.after(RELIST_AFTER_MS, retry);
      }
      throw error;
    }
  }

  /**
   * Calls a tool.
   *
   * @throws {SvcError} internal or timeout; the message contains no credential
   * @throws the signal's reason
   */
  async call(
    tool: string,
    args: Record<string, unknown>,
    options: CallOptions,
  ): Promise<CallResult> {
    const release = await this.#slots.take(options.signal);
    try {
      return await this.#use(
        options,
        (signal) =>
          this.#limited(signal, async (limited, onProgress) => {
            const connection = await abortable(this.#connect(), limited);
            const call = (connection: Connection) =>
              connection.callTool(tool, args, { signal: limited, onProgress });
            return await this.#repeated(connection, call, limited);
          }),
      );
    } finally {
      release();
    }
  }

  /**
   * Opens and closes a separate connection.
   *
   * @throws {SvcError} like {@linkcode ExternalServer.call}
   */
  async test(signal: AbortSignal): Promise<Tested> {
    const started = performance.now();
    const work = async (limited: AbortSignal) => {
      const connection = await this.#open(limited, () => {});
      try {
        const { tools } = await connection.listTools(limited);
        const latency_ms = Math.round(performance.now() - started);
        return { latency_ms, server: connection.server, tools: tools.length };
      } finally {
        await this.#link.track(connection.close());
      }
    };
    try {
      const { server, ...rest } = await this.#limited(
        AbortSignal.any([signal, this.#link.ended]),
        work,
      );
      return { ...rest, server: maskStrings(server, (text) => this.mask(text)) };
    } catch (error) {
      throw this.#told(error);
    }
  }

  /** Accepts no new calls; the server is stopped after the last one. */
  retire(): void {
    this.#retired = true;
    this.#retiring.abort(new SvcError("internal", "it is no longer in the policy"));
    this.#stopRelistTimer();
    this.breaker.close();
    if (this.#calls.size === 0) this.#drop();
  }

  /** Stops the server immediately, even during calls; resolves when nothing is left of it. */
  async close(): Promise<void> {
    this.retire();
    this.#stopIdleTimer();
    await this.#link.close();
  }

  async #use<T>(
    options: CallOptions,
    work: (signal: AbortSignal) => Promise<T>,
    success: Verdict = "well",
  ): Promise<T> {
    const { signal, answer_forms } = options;
    const call = { answer_forms };
    this.#calls.add(call);
    this.#stopIdleTimer();
    try {
      const result = await this.breaker.attempt(
        () => work(signal),
        {
          error: (error) =>
            signal.aborted ? "nothing" : error instanceof AnsweredError ? "well" : "failed",
          success,
        },
      );
      this.#unlisted = undefined;
      return result;
    } catch (error) {
      signal.throwIfAborted();
      throw this.#told(error);
    } finally {
      this.#calls.delete(call);
      if (this.#calls.size === 0) this.#rest();
    }
  }

  #limited<T>(
    signal: AbortSignal,
    work: (signal: AbortSignal, extend: () => void) => Promise<T>,
  ): Promise<T> {
    return withinLimit(this.entry.timeout_ms, signal, work);
  }

  /** Makes a request, and repeats it if the server had lost our session. */
  async #repeated<T>(
    connection: Connection,
    request: (connection: Connection) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    try {
      return await request(connection);
    } catch (error) {
      if (!(error instanceof ForgottenError)) throw error;
      this.#drop();
      return await request(await abortable(this.#connect(), signal));
    }
  }

  #connect(): Promise<Connection> {
    if (!this.#retired) return this.#link.get();
    return Promise.reject(new SvcError("internal", "it is no longer in the policy"));
  }

  #reconnect(signal: AbortSignal, onClosed: () => void): Promise<Connection> {
    this.#stale = true;
    return this.#open(signal, onClosed);
  }

  async #open(signal: AbortSignal, onClosed: () => void): Promise<Connection> {
    const { Connection } = await import("./connection.ts");
    this.#stderr.begin();
    return await Connection.open(await this.#parts.target(), {
      onClosed,
      onToolsChanged: () => this.#stale = true,
      onStderr: (line) => this.#stderr.line(line),
      mayAnswer: () => this.#calls.size > 0 && this.#calls.values().every((it) => it.answer_forms),
    }, signal);
  }

  #rest(): void {
    if (this.#retired) return this.#drop();
    this.#stopIdleTimer = this.#parts.clock.after(this.entry.idle_ms, () => this.#drop());
  }

  #drop(): void {
    this.#stopIdleTimer();
    this.#link.drop();
  }

  #told(error: unknown): SvcError {
    const message = messageOf(error);
    const last = this.#stderr.last;
    const words = last === "" || error instanceof AnsweredError
      ? message
      : `${message}; its last output: ${last}`;
    const code = error instanceof SvcError ? error.code : "internal";
    const { name, transport, auth_env } = this.entry;
    const hint = code !== "unauthenticated" || transport !== "http" || auth_env !== undefined
      ? undefined
      : `log in with \`svc ctl mcp login ${name}\``;
    return new SvcError(code, this.mask(`tool server ${name}: ${words}`), { hint, cause: error });
  }
}
