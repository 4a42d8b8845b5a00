/**
 * Finds tokens in a worker: text that was made for it keeps a grammar busy for minutes, and must not
 * keep the page from anything. This module is both sides; the grammars are loaded in the worker alone.
 */
import type { Token } from "../../../src/base/highlight/tokens.ts";

/** As long as a worker may take to come up with its grammars. */
const START_DEADLINE_MS = 30_000;
/** As long as it may take for one piece of code; a few milliseconds are usual. */
const DEADLINE_MS = 2_000;

interface Question {
  code: string;
  language: string;
}

/** The page's side. One piece of code is asked for at a time. */
export class TokenWorker {
  #worker: Worker | undefined;

  /** The tokens of code. @throws {Error} when they cannot be found, or not in time. */
  async find(code: string, language: string): Promise<readonly Token[]> {
    try {
      const worker = this.#worker ?? await this.#start();
      const tokens = nextMessage<readonly Token[]>(worker, DEADLINE_MS);
      worker.postMessage({ code, language } satisfies Question);
      return await tokens;
    } catch (error) {
      this.#worker?.terminate();
      this.#worker = undefined;
      throw error;
    }
  }

  async #start(): Promise<Worker> {
    const worker = this.#worker = new Worker(import.meta.url, { type: "module" });
    await nextMessage(worker, START_DEADLINE_MS);
    return worker;
  }
}

/** What a worker says next. @throws {Error} when it fails, or says nothing in time. */
async function nextMessage<T>(worker: Worker, timeout_ms: number): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const late = setTimeout(() => reject(new Error("it took too long")), timeout_ms);
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = () => reject(new Error("the worker failed"));
  try {
    return await promise;
  } finally {
    clearTimeout(late);
  }
}

/** The worker's side: says that it is there, then answers each question. */
async function answer(): Promise<void> {
  const { tokensOf } = await import("../../../src/base/highlight/grammars.ts");
  globalThis.onmessage = ({ data: { code, language } }: MessageEvent<Question>) =>
    globalThis.postMessage(tokensOf(code, language));
  globalThis.postMessage("ready");
}

if (!("document" in globalThis)) answer();
