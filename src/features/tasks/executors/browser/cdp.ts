/**
 * The Chrome DevTools Protocol over Chromium's pipes: JSON messages that end in a NUL. Unlike the
 * debugging port, no other program can reach them, and Chromium ends when they close.
 */
import type { Duplex } from "node:stream";
import { LineSplitter } from "../../../../base/line_splitter.ts";

// deno-lint-ignore no-explicit-any -- what a method answers is in Chromium's own description of it
export type CdpResult = any;

class CdpError extends Error {
  override name = "CdpError";
}

interface Waiting {
  method: string;
  resolve(result: CdpResult): void;
  reject(error: Error): void;
}

export interface CdpEvent {
  method: string;
  params: CdpResult;
  session_id?: string;
}

const ANSWER_MS = 60_000;
/** The largest message: a screenshot or a PDF in base64. */
const MESSAGE_MAX = 128 * 1024 * 1024;

export class Cdp {
  readonly #to: Duplex;
  readonly #waiting = new Map<number, Waiting>();
  readonly #watchers = new Set<(event: CdpEvent) => void>();
  #last_id = 0;
  #ended: Error | undefined;

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
   * Calls a method, of a page if given. @throws {CdpError} when it is refused or Chromium has
   * ended.
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

  /** @returns a function that stops watching */
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
