/**
 * The tokens of `SVC_SERVE_TOKENS`, which decide who may hire (product.md, Authentication, surface
 * B).
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** The accepted tokens; none of them leaves this object. */
export class HireTokens {
  readonly #tokens: readonly string[];
  readonly #digests: readonly Uint8Array[];
  readonly #ids: readonly string[];

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
    this.#digests = tokens.map(digest);
    this.#ids = this.#digests.map(keyId);
  }

  /** Whether a token is needed; without configured tokens anyone may hire. */
  get required(): boolean {
    return this.#tokens.length > 0;
  }

  get count(): number {
    return this.#tokens.length;
  }

  /** Returns the key id of a token, in the same time for every token, valid or not. */
  identify(offered: string | null): string | undefined {
    const bytes = digest(offered ?? "");
    let found = -1;
    this.#digests.forEach((known, n) => {
      if (timingSafeEqual(known, bytes)) found = n;
    });
    return this.#ids[found];
  }

  /** Signs a text with the token of a key id, if that is still accepted. */
  sign(key_id: string, text: string): string | undefined {
    const at = this.#ids.indexOf(key_id);
    if (at < 0) return undefined;
    return createHmac("sha256", this.#tokens[at]).update(text).digest("base64");
  }
}

function digest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

/** Identifies a token in the database without revealing it. */
function keyId(digest: Uint8Array): string {
  return digest.slice(0, 8).toHex();
}
