/** The readable text of a page. */
import { htmlToText } from "../../../agent/html_text.ts";
import { Slots } from "../../../platform/slots.ts";

export interface Article {
  title: string;
  text: string;
}

/** How long a page may take; one that takes longer is read in a plainer way. */
const EXTRACT_MS = 15_000;
/** Workers at once. */
const AT_ONCE = 2;
/** Characters; what is longer is no article, and takes long to be found out about. */
const ARTICLE_HTML_MAX = 2_000_000;
/** Less text than this is no article: the page is then read as a whole. */
const ARTICLE_MIN = 200;

/** Reads pages, a few at a time: each takes a worker. */
export class Extractor {
  readonly #slots = new Slots(AT_ONCE);

  /**
   * Extracts what is meant to be read of an HTML page.
   *
   * @param url the address that its links are relative to.
   * @throws the signal's reason when it fires.
   */
  async extract(html: string, url: string, signal: AbortSignal): Promise<Article> {
    if (html.length > ARTICLE_HTML_MAX) return await wholePage(html, url);
    const release = await this.#slots.take(signal);
    try {
      const article = await inWorker(html, signal);
      if (article !== undefined && article.text.length >= ARTICLE_MIN) return article;
      return await wholePage(html, url, article?.title);
    } finally {
      release();
    }
  }
}

async function wholePage(html: string, url: string, known_title = ""): Promise<Article> {
  const text = await htmlToText(html, url);
  const title = known_title || (text.split("\n", 1)[0] ?? "").replace(/^#+ /, "").slice(0, 200);
  return { title, text };
}

/** Undefined for a page that keeps the reader busy for too long, or breaks it. */
async function inWorker(html: string, signal: AbortSignal): Promise<Article | undefined> {
  signal.throwIfAborted();
  const worker = new Worker(workerEntry(import.meta.url), {
    type: "module",
    name: "extract",
    deno: { permissions: "none" },
  });
  const done = Promise.withResolvers<Article | undefined>();
  const timer = setTimeout(() => done.resolve(undefined), EXTRACT_MS);
  const onAbort = () => done.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  worker.onmessage = ({ data }: MessageEvent<Article>) => done.resolve(data);
  worker.onerror = (event) => {
    // Unhandled, it would end the daemon.
    event.preventDefault();
    done.resolve(undefined);
  };
  try {
    worker.postMessage(html);
    return await done.promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    worker.terminate();
  }
}

/** As for the unit's module: bundled, everything but the entries lies at the top of the output. */
function workerEntry(base: string): URL {
  const source = base.endsWith("/research/extract.ts");
  const path = "./src/tasks/executors/research/extract_worker.js";
  return new URL(source ? "./extract_worker.ts" : path, base);
}
