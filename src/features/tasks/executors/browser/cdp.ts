/**
 * The Chrome DevTools Protocol over Chromium's own pipes: JSON messages, each terminated by a NUL.
 * Unlike the debugging port, no other program on the machine can reach them, and Chromium ends when
 * they close.
 */
import type { Duplex } from "node:stream";
import { LineSplitter } from "../../../../base/line_splitter.ts";

// deno-lint-ignore no-explicit-any -- what a method answers is in Chromium's own description of it
export type CdpResult = any;

/** An error response of Chromium. */
export class CdpError extends Error {
  override name = "CdpError";
}

interface Waiting {
  method: string;
  resolve(result: CdpResult): void;
  reject(error: Error): void;
}

/** An event, with the session (the page) it belongs to. */
export interface CdpEvent {
  method: string;
  params: CdpResult;
  session_id?: string;
}

/** How long Chromium may take to answer a call. */
const ANSWER_MS = 60_000;
/** The largest message: a screenshot or a PDF in base64. */
const MESSAGE_MAX = 128 * 1024 * 1024;

export class Cdp {
  readonly #to: Duplex;
  readonly #waiting = new Map<number, Waiting>();
  readonly #watchers = new Set<(event: CdpEvent) => void>();
  #last_id = 0;
  #ended: Error | undefined;

  /**
   * @param to the pipe that Chromium reads
   * @param from the pipe that Chromium writes
   */
  constructor(to: Duplex, from: Duplex) {
    this.#to = to;
    const decoder = new TextDecoder();
    const messages = new LineSplitter(MESSAGE_MAX, {
      line: (bytes) => this.#receive(JSON.parse(decoder.decode(bytes))),
      tooLong: () => this.end(new CdpError("Chromium sent a message that is too long")),
      tooLongEnd: () => {},
    }, 0);
    from.on("data", (data: Uint8Array) => messages.push(data));
    const gone = () => this.end(new CdpError("Chromium has ended"));
    for (const stream of [to, from]) stream.on("error", gone);
    from.on("close", gone);
  }

  /**
   * Calls a method.
   *
   * @param session_id the page that it is about
   * @throws {CdpError} when Chromium refuses the call or has ended
   */
  call(
    method: string,
    params: Record<string, unknown> = {},
    session_id?: string,
  ): Promise<CdpResult> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const id = ++this.#last_id;
    const { promise, resolve, reject } = Promise.withResolvers<CdpResult>();
    this.#waiting.set(id, { method, resolve, reject });
    const timer = setTimeout(() => {
      this.#waiting.delete(id);
      reject(new CdpError(`${method}: no answer within ${ANSWER_MS / 1000} s`));
    }, ANSWER_MS);
    this.#to.write(`${JSON.stringify({ id, method, params, sessionId: session_id })}\0`);
    return promise.finally(() => clearTimeout(timer));
  }

  /** Calls the watcher with every event from now on. @returns a function that ends that. */
  watch(watcher: (event: CdpEvent) => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Fails all pending and later calls. */
  end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#ended);
    this.#waiting.clear();
  }

  #receive(message: CdpResult): void {
    if (message.id === undefined) {
      const { method, params, sessionId: session_id } = message;
      for (const watcher of [...this.#watchers]) watcher({ method, params, session_id });
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.result);
    else waiting?.reject(new CdpError(`${waiting.method}: ${message.error.message}`));
  }
}
