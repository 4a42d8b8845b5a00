/** The connection to NATS: established, kept and restored while the engine is open. */
import { errors, type NatsConnection } from "@nats-io/nats-core";
import {
  jetstream,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
} from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { type ObjectStore, Objm } from "@nats-io/obj";
import { abortable, delay } from "@std/async";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Env } from "../../../os/paths.ts";
import { within } from "../../../base/within.ts";
import type { NatsConfig } from "../config.ts";
import { connectionOptions } from "./options.ts";
import { makeStream } from "./queue.ts";
import { connect } from "./transport.ts";

/** The data on the server. */
export interface Jet {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** The records of tasks and their log. */
  readonly records: KV;
  readonly artifacts: ObjectStore;
  /** When the records' bucket was created; it distinguishes a server that has lost its data. */
  readonly created: string;
}

export interface LinkParts {
  config: NatsConfig;
  env: Env;
  log: Log;
  /** The name of the connection on the server. */
  name: string;
  /**
   * Called with each new connection; the signal fires when it ends. Interruptions that the
   * connection recovers from by itself are not reported.
   */
  onConnected(jet: Jet, over: AbortSignal): void;
}

/** The bucket of records; its name is part of the subjects of their messages. */
export const RECORDS = "svc_tasks";
export const ARTIFACTS = "svc_artifacts";

/** How many revisions of a record are kept, which are the steps of a task. The server's maximum. */
const HISTORY = 64;
/** The time limit of one request. */
const REQUEST_MS = 2_000;
/** How long a caller waits for a lost connection. */
const WAIT_MS = 2_000;
const AGAIN_MIN_MS = 500;
const AGAIN_MAX_MS = 5_000;
/** How long the last messages may take when the connection is closed. */
const DRAIN_MS = 2_000;

export class NatsLink {
  readonly #parts: LinkParts;
  readonly #closed = new AbortController();
  /** The usable connection, while there is one. */
  #jet: Jet | undefined;
  /** Resolves when the server can be used. */
  #ready = Promise.withResolvers<void>();
  #problem = "no answer yet";
  /** Whether the log already reports the current outage. */
  #told = false;
  #keeping: Promise<void> | undefined;

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  /** Starts to connect, and keeps the connection until {@linkcode NatsLink.close}. */
  open(): void {
    this.#keeping ??= this.#keep();
  }

  /**
   * Uses the server; waits up to 2 s for a lost connection.
   *
   * @throws {SvcError} unavailable when the server does not answer; anything else that `op` throws
   */
  async use<T>(op: (jet: Jet) => Promise<T>): Promise<T> {
    if (this.#jet === undefined) await within(this.#ready.promise, WAIT_MS);
    if (this.#jet === undefined) throw this.#unavailable();
    try {
      return await op(this.#jet);
    } catch (error) {
      throw isOutage(error) ? this.#unavailable(error) : error;
    }
  }

  /** WaitingClients until the server can be used, or the signal fires. */
  async ready(signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#closed.signal]);
    await abortable(this.#ready.promise, stop).catch(() => {});
  }

  /** Sends the last messages and closes the connection. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#keeping;
  }

  #unavailable(cause?: unknown): SvcError {
    const why = cause === undefined ? this.#problem : messageOf(cause);
    // Hirers see this message; the log and `svc doctor` name the server.
    return new SvcError("unavailable", `the task server (NATS) is unavailable: ${why}`, {
      hint: "try again; `svc doctor` on the daemon's machine shows more",
      cause,
    });
  }

  /** Never rejects. */
  async #keep(): Promise<void> {
    const { config, env, name, log } = this.#parts;
    const { signal } = this.#closed;
    for (let wait_ms = AGAIN_MIN_MS; !signal.aborted; wait_ms = nextWait(wait_ms)) {
      try {
        const nc = await connect(await connectionOptions(config, { env, name }));
        wait_ms = AGAIN_MIN_MS;
        await this.#serve(nc);
      } catch (error) {
        this.#down(messageOf(error));
        const fields = { url: config.nats_url, error: messageOf(error) };
        // An outage is reported once, not for every attempt.
        if (this.#told) log.debug("cannot reach NATS", fields);
        else log.warn("cannot reach NATS; retrying", fields);
        this.#told = true;
      }
      await delay(wait_ms, { signal }).catch(() => {});
    }
  }

  /** Lives as long as the connection. @throws the reason why it ended or could not be set up. */
  async #serve(nc: NatsConnection): Promise<void> {
    const over = new AbortController();
    const statuses = nc.status();
    const end = () => void drained(nc);
    this.#closed.signal.addEventListener("abort", end, { once: true });
    try {
      if (this.#closed.signal.aborted) return;
      const jet = await setUp(nc);
      this.#up(jet);
      this.#parts.onConnected(jet, over.signal);
      for await (const { type } of statuses) {
        if (type === "disconnect") this.#lost();
        if (type === "reconnect") this.#up(await setUpAgain(nc, jet));
      }
      const error = await nc.closed();
      if (error instanceof Error) throw error;
    } finally {
      over.abort();
      this.#closed.signal.removeEventListener("abort", end);
      await drained(nc);
      this.#down("the connection was closed");
    }
  }

  #up(jet: Jet): void {
    this.#told = false;
    this.#parts.log.info("connected to NATS", { server: jet.nc.getServer() });
    this.#jet = jet;
    this.#ready.resolve();
  }

  #lost(): void {
    const { log, config } = this.#parts;
    if (!this.#told) log.warn("the connection to NATS was lost", { url: config.nats_url });
    this.#told = true;
    this.#down("the connection was lost");
  }

  #down(problem: string): void {
    this.#problem = problem;
    if (this.#jet === undefined) return;
    this.#jet = undefined;
    this.#ready = Promise.withResolvers();
  }
}

function nextWait(ms: number): number {
  return Math.min(ms * 2, AGAIN_MAX_MS);
}

async function setUp(nc: NatsConnection): Promise<Jet> {
  const js = jetstream(nc, { timeout: REQUEST_MS });
  const jsm = await js.jetstreamManager();
  await makeStream(jsm);
  const records = await new Kvm(js).create(RECORDS, { history: HISTORY });
  const artifacts = await new Objm(js).create(ARTIFACTS);
  const { created } = (await records.status()).streamInfo;
  return { nc, js, jsm, records, artifacts, created };
}

/** @throws when everything that uses the connection must start anew */
async function setUpAgain(nc: NatsConnection, jet: Jet): Promise<Jet> {
  const { created } = await setUp(nc);
  if (created !== jet.created) throw new Error("the server has lost its tasks");
  return jet;
}

async function drained(nc: NatsConnection): Promise<void> {
  if (!nc.isClosed() && !await within(nc.drain(), DRAIN_MS)) await nc.close();
}

const OUTAGES = [
  errors.TimeoutError,
  errors.RequestError,
  errors.ClosedConnectionError,
  errors.DrainingConnectionError,
  errors.ConnectionError,
];

/** Reports whether the server or the connection failed, rather than the request. */
function isOutage(error: unknown): boolean {
  if (OUTAGES.some((kind) => error instanceof kind)) return true;
  if (error instanceof JetStreamApiError) return error.status === 503;
  return error instanceof Error && error.cause !== undefined && isOutage(error.cause);
}
