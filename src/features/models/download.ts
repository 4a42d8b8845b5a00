/** Downloads a newer catalogue of models. */
import { atomicWrite, changedAt } from "../../os/files.ts";
import { STORED_MAX } from "../../models/catalogue_file.ts";
import { messageOf } from "../../protocol/errors.ts";

export interface DownloadParts {
  /** Where the catalogue is stored. */
  path: string;
  /** Where it is downloaded; undefined: not at all. */
  url(): string | undefined;
  warn(message: string, fields: Record<string, unknown>): void;
}

const DAY_MS = 24 * 3_600_000;
const TIMEOUT_MS = 30_000;
const BYTES_MAX = 32 * 1024 * 1024;

/** Downloads the catalogue in the background when models are used, at most once a day. */
export class CatalogueDownload {
  readonly #parts: DownloadParts;
  readonly #stop = new AbortController();
  /** After a failure, too, nothing is requested for a day. */
  #tried: { url: string; at: number } | undefined;
  #running: Promise<void> | undefined;

  constructor(parts: DownloadParts) {
    this.#parts = parts;
  }

  /** Begins a download if one is due. Nothing waits for it, and a failure is only logged. */
  begin(now = Date.now()): void {
    const url = this.#parts.url();
    if (url === undefined || this.#running !== undefined || this.#stop.signal.aborted) return;
    const recent = (at: number | undefined) => at !== undefined && now - at < DAY_MS && at <= now;
    if (this.#tried?.url === url && recent(this.#tried.at)) return;
    if (this.#tried === undefined && recent(changedAt(this.#parts.path))) return;
    this.#tried = { url, at: now };
    this.#running = this.#download(url).catch((error) => {
      if (this.#stop.signal.aborted) return;
      this.#parts.warn("cannot download the catalogue of models", { url, error: messageOf(error) });
    }).finally(() => this.#running = undefined);
  }

  /** Waits for a download that runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Ends a download that runs. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.settled();
  }

  async #download(url: string): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      redirect: "manual",
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(
        `the server answered ${response.status}` +
          (response.status >= 300 && response.status < 400 ? "; set url to the new address" : ""),
      );
    }
    const text = await textOf(response, signal);
    const { fromModelsDev } = await import("./models_dev.ts");
    const today = new Date().toISOString().slice(0, 10);
    const stored = JSON.stringify(fromModelsDev(JSON.parse(text), url, today));
    if (stored.length > STORED_MAX) throw new Error(`it has more than ${STORED_MAX} characters`);
    signal.throwIfAborted();
    await atomicWrite(this.#parts.path, stored, 0o600);
  }
}

async function textOf({ body }: Response, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop also ends the connection.
  for await (const chunk of body ?? []) {
    signal.throwIfAborted();
    bytes += chunk.length;
    if (bytes > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
