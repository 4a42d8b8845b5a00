/** Which prefixes of requests were seen before: how providers' prompt caches count. */

import { createHash } from "node:crypto";

/** How far before a mark a shorter cached prefix is looked for, as Anthropic documents it. */
const LOOKBACK = 20;

/** What of a request came from the cache, and what went into it, in tokens. */
export interface CacheUse {
  read: number;
  written: number;
  /** What follows the last mark. */
  rest: number;
}

/** A prompt cache over the very bytes of requests; a token is four bytes. */
export class PrefixCache {
  readonly #seen = new Set<string>();

  /**
   * Counts a request and remembers its marked prefixes.
   *
   * @param blocks The request in the order in which providers hash it.
   * @param marks Indexes of blocks that end a prefix to keep.
   */
  visit(model: string, blocks: readonly string[], marks: readonly number[]): CacheUse {
    const hash = createHash("sha256").update(model);
    const encoder = new TextEncoder();
    const prefixes: { digest: string; tokens: number }[] = [];
    let bytes = 0;
    for (const block of blocks) {
      hash.update(block).update("\0");
      bytes += encoder.encode(block).length;
      prefixes.push({ digest: hash.copy().digest("hex"), tokens: Math.ceil(bytes / 4) });
    }

    let read = 0;
    let marked = 0;
    for (const mark of marks) {
      marked = Math.max(marked, prefixes[mark].tokens);
      for (let at = mark; at >= Math.max(0, mark - LOOKBACK); at--) {
        if (!this.#seen.has(prefixes[at].digest)) continue;
        read = Math.max(read, prefixes[at].tokens);
        break;
      }
    }
    for (const mark of marks) this.#seen.add(prefixes[mark].digest);
    return { read, written: marked - read, rest: Math.ceil(bytes / 4) - marked };
  }
}
