/** The only connection of a tool server: opened on demand, closed on request. */
import { abortable } from "@std/async";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { Connection } from "./connection.ts";

export interface LinkParts {
  timeout_ms: number;
  /** Connects; must call `onClosed` when the connection ends by itself. */
  open(signal: AbortSignal, onClosed: () => void): Promise<Connection>;
}

export class Link {
  readonly #parts: LinkParts;
  readonly #end = new AbortController();
  #connection: Promise<Connection> | undefined;
  /** Ends the attempt to connect. */
  #give_up = new AbortController();
  #live: Connection | undefined;
  /** Connections that are being opened or closed. */
  #busy = new Set<Promise<void>>();

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  get live(): boolean {
    return this.#live !== undefined;
  }

  /** Whether a connection is being opened or closed. */
  get busy(): boolean {
    return this.#busy.size > 0;
  }

  /** Fires when the link is closed. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** Returns the connection, and opens it if necessary. @throws the reason why there is none. */
  get(): Promise<Connection> {
    return this.#connection ??= this.#connect();
  }

  #connect(): Promise<Connection> {
    const forget = () => {
      if (this.#connection === opening) this.#connection = this.#live = undefined;
    };
    this.#give_up = new AbortController();
    const opening = withinLimit(
      this.#parts.timeout_ms,
      AbortSignal.any([this.ended, this.#give_up.signal]),
      (signal) => this.track(this.#parts.open(signal, forget)),
    );
    opening.then((connection) => {
      if (this.#connection === opening && !connection.gone) this.#live = connection;
    }, forget);
    return opening;
  }

  /** Closes the connection, also one that is being opened. */
  drop(): void {
    if (!this.live) this.#give_up.abort(new SvcError("internal", "it was stopped"));
    const dropped = this.#connection;
    this.#connection = this.#live = undefined;
    if (dropped !== undefined) this.track(dropped.then((it) => it.close(), () => {}));
  }

  /** Closes the connection permanently; resolves when nothing is left of it. */
  async close(): Promise<void> {
    this.#end.abort(new SvcError("shutting_down", "it is stopping"));
    this.drop();
    while (this.busy) await Promise.all(this.#busy);
  }

  /** Registers work that must end before {@linkcode Link.close} resolves. */
  track<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<void> = work.then(() => {}, () => {})
      .then(() => void this.#busy.delete(settled));
    this.#busy.add(settled);
    return work;
  }
}

/** How often one piece of work can restart its limit. */
const EXTENSIONS_MAX = 20;

/**
 * Runs work with a time limit, which `extend` restarts.
 *
 * @throws {SvcError} timeout
 * @throws the signal's reason
 */
export async function withinLimit<T>(
  timeout_ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal, extend: () => void) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const began = performance.now();
  const begin = () =>
    setTimeout(() => {
      const text = `it did not answer within ${formatDuration(timeout_ms)}`;
      late.abort(new SvcError("timeout", text));
    }, timeout_ms);
  let timer = begin();
  let ended = false;
  const extend = () => {
    if (ended || performance.now() - began > (EXTENSIONS_MAX - 1) * timeout_ms) return;
    clearTimeout(timer);
    timer = begin();
  };
  try {
    const limited = AbortSignal.any([signal, late.signal]);
    return await abortable(work(limited, extend), limited);
  } finally {
    ended = true;
    clearTimeout(timer);
  }
}
