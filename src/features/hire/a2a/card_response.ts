/** Agent cards over HTTP, which clients can cache (A2A, section 8.6). */
import { sha256Hex } from "../../../base/sha256.ts";
import { JSON_HEADERS } from "../../../net/answers.ts";
import { VERSION_PARAMETER } from "./card.ts";

/** How long a card may be cached, in seconds: an operator may restart with another one. */
const MAX_AGE_S = 60;

/** Returns a card, or 304 if the client has it. @param changed_at when the offer last changed */
export async function cardResponse(
  card: unknown,
  { headers: asked }: Request,
  changed_at: Date,
): Promise<Response> {
  const text = JSON.stringify(card);
  // Weak, because the listener may compress the body.
  const etag = `W/"${(await sha256Hex(text)).slice(0, 32)}"`;
  const headers = {
    ...JSON_HEADERS,
    vary: `Origin, ${VERSION_PARAMETER}`,
    etag,
    "last-modified": changed_at.toUTCString(),
    "cache-control": `public, max-age=${MAX_AGE_S}`,
  };
  if (has(asked.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
  return new Response(text, { headers });
}

/** Whether a list contains a tag, compared as weak tags (RFC 9110, section 13.1.2). */
function has(list: string | null, etag: string): boolean {
  if (list === null) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, "");
  const tags = list.split(",").map(opaque);
  return tags.includes("*") || tags.includes(opaque(etag));
}
