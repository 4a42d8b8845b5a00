/** The header `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). */
import { sha256Hex } from "../../base/sha256.ts";
import { SvcError } from "../../protocol/errors.ts";

const KEY = /^[\x21-\x7e]{1,255}$/;
/** A string of structured fields (RFC 8941, section 3.3.3). */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * Returns the key in a header, without the quotes of a structured field.
 *
 * @throws {SvcError} validation
 */
export function readIdempotencyKey(header: string): string {
  const quoted = QUOTED.exec(header);
  const key = quoted === null ? header : quoted[1].replaceAll(/\\(.)/g, "$1");
  if (KEY.test(key) && (quoted !== null || !header.startsWith('"'))) return key;
  throw new SvcError(
    "validation",
    `Idempotency-Key must be 1 to 255 visible ASCII characters; got ${JSON.stringify(header)}`,
    { hint: "use a new UUID for each request" },
  );
}

/**
 * Returns the hash of a JSON value, which does not depend on whitespace or the order of keys.
 *
 * @throws {SvcError} validation when it is nested too deeply
 */
export async function contentHash(value: unknown): Promise<string> {
  try {
    return await sha256Hex(JSON.stringify(value, sorted));
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new SvcError("validation", "the body is nested too deeply", { cause });
  }
}

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1));
}
