/**
 * One tool server, shared by its users: connected at its first use, stopped when idle, and left
 * alone for a while after repeated failures.
 */
import { abortable } from "@std/async";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import type { Log } from "../../os/log.ts";
import { Semaphore } from "../../base/semaphore.ts";
import type { Clock } from "../../base/clock.ts";
import { Breaker, type BreakerState, type Verdict } from "./breaker.ts";
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
  /** Masks its credentials in a text. */
  mask(text: string): string;
  clock: Clock;
  log: Log;
}

/** The options of a call. */
export interface CallOptions {
  signal: AbortSignal;
  /** Whether the server's own questions during the call may be answered with their defaults. */
  answer_forms: boolean;
}

/** The result of a test. */
export interface Tested {
  latency_ms: number;
  server: { name: string; version: string };
  tools: number;
}

/**
 * How long after a failed attempt to list a server's tools no other one is made. No longer than its
 * breaker stays open, which decides from the fifth failure on.
 */
const RELIST_AFTER_MS = 10_000;

export class ExternalServer {
  readonly entry: ServerEntry;
  readonly #parts: ServerParts;
  readonly #slots: Semaphore;
  readonly #breaker: Breaker;
  readonly #stderr: StderrLog;
  readonly #link: Link;
  #tools: Listed<RemoteTool> | undefined;
  /** Whether its tools may have changed since `tools` was listed. */
  #stale = true;
  #listing: Promise<Listed<RemoteTool>> | undefined;
  /** Why its tools could not be listed; undefined if they were. */
  #unlisted: unknown;
  /** Whether it is too early to list them again. */
  #relist_waits = false;
  /** The calls in progress. */
  #calls = new Set<Pick<CallOptions, "answer_forms">>();
  #stopIdleTimer = () => {};
  #stopRelistTimer = () => {};
  #retired = false;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.entry = parts.entry;
    this.#slots = new Semaphore(parts.entry.max_concurrent);
    const { timeout_ms } = parts.entry;
    this.#link = new Link({ timeout_ms, open: (...args) => this.#reconnect(...args) });
    this.#breaker = new Breaker(parts.clock, () => this.#drop());
    this.#stderr = new StderrLog(parts.entry.name, parts.log, parts.mask);
  }

  get breaker(): BreakerState {
    return this.#breaker.state;
  }

  /** While the breaker is open, when it allows the next probe: RFC 3339 in UTC. */
  get retry_at(): string | undefined {
    return this.#breaker.retry_at;
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
   * Returns its tools: the known list, or a new one if that is missing or out of date.
   *
   * @throws {SvcError} internal or timeout when they cannot be listed; for a while after that,
   * without another attempt
   */
  async tools(signal: AbortSignal): Promise<Listed<RemoteTool>> {
    const left_alone = this.#relist_waits || ["open", "probing"].includes(this.#breaker.state);
    if (this.#unlisted !== undefined && left_alone) throw this.#unlisted;
    if (this.#tools !== undefined && !this.#stale) return this.#tools;
    // The attempt is shared by all who wait, so one that gives up does not stop it.
    this.#listing ??= this.#list().finally(() => this.#listing = undefined);
    return await abortable(this.#listing, signal);
  }

  async #list(): Promise<Listed<RemoteTool>> {
    const for_all = { signal: this.#link.ended, answer_forms: false };
    try {
      const list = (connection: Connection, signal: AbortSignal) => {
        this.#stale = false;
        return connection.listTools(signal);
      };
      // A server that fails every call may still be asked for its tools before each one.
      const answers = await this.#use(for_all, list, "nothing");
      return this.#tools = readTools(answers, (text) => this.mask(text));
    } catch (error) {
      this.#stale = true;
      this.#unlisted = error;
      if (this.#breaker.state === "closed") {
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
    return await this.#use(
      options,
      (connection, signal) => connection.callTool(tool, args, signal),
    );
  }

  /**
   * Opens a separate connection and closes it.
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
    this.#stopRelistTimer();
    this.#breaker.close();
    if (this.#calls.size === 0) this.#drop();
  }

  /** Stops the server immediately, even during calls; resolves when nothing is left of it. */
  async close(): Promise<void> {
    this.retire();
    this.#stopIdleTimer();
    await this.#link.close();
  }

  // ── one use ──────────────────────────────────────────────────────────────────────────────────

  async #use<T>(
    options: CallOptions,
    work: (connection: Connection, signal: AbortSignal) => Promise<T>,
    success: Verdict = "well",
  ): Promise<T> {
    const { signal, answer_forms } = options;
    const release = await this.#slots.take(signal);
    const call = { answer_forms };
    this.#calls.add(call);
    this.#stopIdleTimer();
    try {
      const result = await this.#breaker.attempt(
        () => this.#limited(signal, (limited) => this.#withConnection(work, limited)),
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
      release();
      if (this.#calls.size === 0) this.#rest();
    }
  }

  #limited<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withinLimit(this.entry.timeout_ms, signal, work);
  }

  async #withConnection<T>(
    work: (connection: Connection, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const connection = await abortable(this.#connect(), signal);
    try {
      return await work(connection, signal);
    } catch (error) {
      if (!(error instanceof ForgottenError)) throw error;
      // The call was not made: the server has restarted and lost our session.
      this.#drop();
      return await work(await abortable(this.#connect(), signal), signal);
    }
  }

  // ── the connection ───────────────────────────────────────────────────────────────────────────

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

  // ── what is told ─────────────────────────────────────────────────────────────────────────────

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
