/** Runs the index in a worker, which starts at the first search. */
import { deadline } from "@std/async";
import { startWorker } from "../../os/start.ts";
import type { Log } from "../../os/log.ts";
import { SvcError } from "../../protocol/errors.ts";
import { removeIndex } from "./index_db.ts";
import type { Answer, Ask, Query, Readable, Told } from "./messages.ts";

/** After this, the worker is ended; the next search starts another. */
const ANSWER_MS = 15_000;
const REMOVE_MS = 120_000;

interface SearcherParts {
  path: string;
  log: Log;
}

export class Searcher {
  readonly #parts: SearcherParts;
  #worker: Worker | undefined;
  #asked = 0;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer | undefined>>();

  constructor(parts: SearcherParts) {
    this.#parts = parts;
  }

  /**
   * Searches conversations, after reading grown journals as far as time permits.
   * @throws {SvcError} unavailable when the index cannot be used
   */
  async search(sessions: readonly Readable[], query: Query): Promise<Answer> {
    return (await this.#ask({ kind: "search", sessions, query }, ANSWER_MS))!;
  }

  /** Removes a session from the index, or the whole index if that fails. */
  async remove(id: string): Promise<void> {
    try {
      await this.#ask({ kind: "remove", id }, REMOVE_MS);
    } catch {
      this.#end(new SvcError("unavailable", "svc is rebuilding the search index"));
      removeIndex(this.#parts.path);
    }
  }

  async close(): Promise<void> {
    if (this.#worker !== undefined) await this.#ask({ kind: "close" }, 2_000).catch(() => {});
    this.#end(new SvcError("shutting_down", "the daemon is stopping"));
  }

  async #ask(ask: Ask, timeout_ms: number): Promise<Answer | undefined> {
    const worker = this.#worker ??= this.#start();
    const n = ++this.#asked;
    const waiting = Promise.withResolvers<Answer | undefined>();
    this.#waiting.set(n, waiting);
    worker.postMessage({ n, path: this.#parts.path, ask });
    try {
      return await deadline(waiting.promise, timeout_ms);
    } catch (error) {
      if (error instanceof SvcError) throw error;
      const cause = new SvcError("unavailable", "the search took too long", {
        hint: "use fewer or rarer words",
        cause: error,
      });
      this.#end(cause);
      throw cause;
    } finally {
      this.#waiting.delete(n);
    }
  }

  #start(): Worker {
    const entry = workerEntry(import.meta.url);
    const worker = startWorker("the search index", entry, { type: "module", name: "search" });
    worker.onmessage = ({ data: { n, answer, problem } }: MessageEvent<Told>) => {
      if (problem === undefined) this.#waiting.get(n)?.resolve(answer);
      else this.#failed(problem);
    };
    worker.onerror = (event) => {
      // Otherwise the daemon would end.
      event.preventDefault();
      this.#failed(event.message);
    };
    return worker;
  }

  /** Removes the index, which is rebuilt from the journals. */
  #failed(problem: string): void {
    const { path, log } = this.#parts;
    log.warn("the search index cannot be used; rebuilding it", { path, error: problem });
    this.#end(
      new SvcError("unavailable", `the search index cannot be used: ${problem}`, {
        hint: "search again; svc rebuilds the index from the journals",
      }),
    );
    removeIndex(path);
  }

  #end(error: SvcError): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}

/** In a bundle, this module is at the top of the output. */
function workerEntry(base: string): URL {
  const source = base.endsWith("/search/searcher.ts");
  return new URL(
    source ? "./index_worker.ts" : "./src/features/search/index_worker.js",
    base,
  );
}
