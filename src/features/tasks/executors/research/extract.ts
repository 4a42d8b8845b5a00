/** Extracts the readable text of a page. */
import { htmlToText } from "../../../../net/html_text.ts";
import { startWorker } from "../../../../os/start.ts";
import { Semaphore } from "../../../../base/semaphore.ts";

interface Article {
  title: string;
  text: string;
}

/** After this, the page is read in a simpler way. */
const EXTRACT_MS = 15_000;
const AT_ONCE = 2;
/** In characters; longer pages take too long. */
const ARTICLE_HTML_MAX = 2_000_000;
/** A page with less text is read as a whole. */
const ARTICLE_MIN = 200;

/**
 * Reads pages in workers, which are reused while a task reads: each Worker that ends leaks two
 * descriptors (Deno 2.7.11).
 */
export class Extractor {
  readonly #slots = new Semaphore(AT_ONCE);
  readonly #idle: Worker[] = [];
  #tasks = 0;

  /** Keeps workers until all returned objects are disposed of. */
  begin(): Disposable {
    this.#tasks++;
    return {
      [Symbol.dispose]: () => {
        if (--this.#tasks === 0) this.#idle.splice(0).forEach((worker) => worker.terminate());
      },
    };
  }

  /** Extracts a page's main text. @throws the signal's reason when it fires. */
  async extract(html: string, url: string, signal: AbortSignal): Promise<Article> {
    if (html.length > ARTICLE_HTML_MAX) return await wholePage(html, url);
    const release = await this.#slots.take(signal);
    try {
      const article = await this.#inWorker(html, signal);
      if (article !== undefined && article.text.length >= ARTICLE_MIN) return article;
      return await wholePage(html, url, article?.title);
    } finally {
      release();
    }
  }

  /** Undefined for a page that takes too long, or breaks the reader. */
  async #inWorker(html: string, signal: AbortSignal): Promise<Article | undefined> {
    signal.throwIfAborted();
    const worker = this.#idle.pop() ?? newWorker();
    let article: Article | undefined;
    try {
      return article = await answerOf(worker, html, signal);
    } finally {
      if (article !== undefined && this.#tasks > 0) this.#idle.push(worker);
      else worker.terminate();
    }
  }
}

async function wholePage(html: string, url: string, known_title = ""): Promise<Article> {
  const text = await htmlToText(html, url);
  const title = known_title || (text.split("\n", 1)[0] ?? "").replace(/^#+ /, "").slice(0, 200);
  return { title, text };
}

function newWorker(): Worker {
  return startWorker("the page reader", workerEntry(import.meta.url), {
    type: "module",
    name: "extract",
    deno: { permissions: "none" },
  });
}

/** @throws the signal's reason when it fires. */
async function answerOf(
  worker: Worker,
  html: string,
  signal: AbortSignal,
): Promise<Article | undefined> {
  signal.throwIfAborted();
  const done = Promise.withResolvers<Article | undefined>();
  const timer = setTimeout(() => done.resolve(undefined), EXTRACT_MS);
  const onAbort = () => done.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  worker.onmessage = ({ data }: MessageEvent<Article>) => done.resolve(data);
  worker.onerror = (event) => {
    // Otherwise the daemon would end.
    event.preventDefault();
    done.resolve(undefined);
  };
  try {
    worker.postMessage(html);
    return await done.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** In a bundle, the module of this function is at the top of the output. */
function workerEntry(base: string): URL {
  const source = base.endsWith("/research/extract.ts");
  const path = "./src/features/tasks/executors/research/extract_worker.js";
  return new URL(source ? "./extract_worker.ts" : path, base);
}
