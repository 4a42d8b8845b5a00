/**
 * Pages of the app that come back after a restart. A page gets a key of its own while it has the
 * token. When it has lost the daemon, it asks for a proof first; the daemon asks for one in turn,
 * and only then gives the new token.
 */
import {
  type Challenge,
  importKey,
  isProven,
  isRandomText,
  pageKey,
  prove,
  randomText,
} from "../protocol/page_proof.ts";
import { SvcError } from "../protocol/errors.ts";

/** How long a page may take for its proof, and how many pages may be about to give one. */
const PATIENCE_MS = 10_000;
const WAITING_MAX = 256;

interface PagesOptions {
  /** Of the home; the same after a restart. */
  home_key: CryptoKey;
  port: number;
  now?(): number;
}

interface Waiting extends Challenge {
  until: number;
}

export class Pages {
  readonly #options: Required<PagesOptions>;
  /** By the daemon's nonce, the oldest first. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(options: PagesOptions) {
    this.#options = { now: () => performance.now(), ...options };
  }

  /** Returns a new page's id and key. */
  async admit(): Promise<{ page: string; key: string }> {
    const page = randomText();
    return { page, key: await pageKey(this.#options.home_key, page) };
  }

  /** Proves to a page that this daemon is of its home. @throws {SvcError} validation */
  async challenge({ page, nonce }: Record<string, unknown>): Promise<
    { nonce: string; proof: string }
  > {
    if (!isRandomText(page) || !isRandomText(nonce)) {
      throw new SvcError("validation", "page and nonce must be 32 bytes in Base64");
    }
    const { port, now } = this.#options;
    const challenge = { page, page_nonce: nonce, daemon_nonce: randomText(), port };
    const proof = await prove(await this.#keyOf(page), "daemon", challenge);
    this.#waiting.set(challenge.daemon_nonce, { ...challenge, until: now() + PATIENCE_MS });
    // A flood of questions costs other pages another try, not memory.
    for (const oldest of this.#waiting.keys()) {
      if (this.#waiting.size <= WAITING_MAX) break;
      this.#waiting.delete(oldest);
    }
    return { nonce: challenge.daemon_nonce, proof };
  }

  /** Checks a page's answer to a challenge, once. @throws {SvcError} unauthenticated */
  async requireProof({ nonce, proof }: Record<string, unknown>): Promise<void> {
    const challenge = this.#waiting.get(nonce as string);
    this.#waiting.delete(nonce as string);
    const proven = challenge !== undefined && this.#options.now() <= challenge.until &&
      await isProven(await this.#keyOf(challenge.page), "page", challenge, proof);
    if (proven) return;
    throw new SvcError("unauthenticated", "the page has not proven that it had a token", {
      hint: "run `svc open`",
    });
  }

  async #keyOf(page: string): Promise<CryptoKey> {
    return await importKey(await pageKey(this.#options.home_key, page));
  }
}
