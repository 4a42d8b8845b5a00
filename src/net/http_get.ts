/** HTTP GET, bounded in size. Follows redirects itself, to check each address. */

import type { Egress } from "./egress.ts";

/** Why a page was not fetched, for the requester. */
export class Refusal extends Error {
  override name = "Refusal";
}

interface FollowOptions {
  /** http or https. */
  url: string;
  signal: AbortSignal;
  /** Checks each address before its request. @throws {Refusal} */
  check?(url: URL): void | Promise<void>;
  egress?: Egress;
}

const MAX_REDIRECTS = 5;

/**
 * Requests a URL and follows redirects. Returns the unread response and its final address.
 *
 * @throws {Refusal} for a forbidden or unreachable address; otherwise as `fetch`
 */
export async function follow(
  { url, signal, check, egress }: FollowOptions,
): Promise<{ response: Response; url: URL }> {
  const headers = {
    accept: "text/html, text/*, application/json, */*;q=0.5",
    "user-agent": "svc",
  };
  let next = parseAddress(url);
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    let response: Response;
    try {
      await check?.(next);
      response = await ask(next, { redirect: "manual", signal, headers }, egress);
    } catch (error) {
      if (!(error instanceof Refusal) || hops === 0) throw error;
      throw new Refusal(`redirected to ${next.href}: ${error.message}`);
    }
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) {
      return { response, url: next };
    }
    await response.body?.cancel();
    next = parseAddress(location, next);
  }
  throw new Refusal(`more than ${MAX_REDIRECTS} redirects`);
}

/** As `fetch`, with the proxy's reason when it did not connect. */
async function ask(url: URL, init: RequestInit, egress: Egress | undefined): Promise<Response> {
  try {
    return await fetch(url, { ...init, client: egress?.client });
  } catch (error) {
    const problem = egress?.problem(url.hostname);
    if (problem === undefined || init.signal?.aborted) throw error;
    throw new Refusal(problem.message, { cause: error });
  }
}

/**
 * Parses an address to fetch.
 *
 * @param base the source of a redirect
 * @throws {Refusal} unless it is http or https without credentials
 */
export function parseAddress(address: string, base?: URL): URL {
  const url = URL.parse(address, base);
  const redirected = base === undefined ? "" : `redirected to ${address}: `;
  if (url === null) throw new Refusal(`${redirected}not a valid URL`);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Refusal(`${redirected}only http and https URLs can be fetched, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Refusal(`${redirected}URLs with credentials are not allowed`);
  }
  return url;
}

/** The port of an address, also the default one. */
export function portOf(url: URL): number {
  return Number(url.port || (url.protocol === "https:" ? 443 : 80));
}

export interface Body {
  bytes: Uint8Array<ArrayBuffer>;
  /** The whole size, if known. */
  size: number | undefined;
  cut: boolean;
}

/** Reads at most `limit` bytes after decompression; 0 reads nothing. */
export async function readBody(
  response: Response,
  limit: number,
  signal: AbortSignal,
): Promise<Body> {
  const declared = response.headers.has("content-encoding")
    ? undefined
    : Number(response.headers.get("content-length") ?? NaN);
  const total = Number.isSafeInteger(declared) ? declared : undefined;
  if (response.body === null) return { bytes: new Uint8Array(0), size: 0, cut: false };
  if (limit === 0) {
    await response.body.cancel();
    return { bytes: new Uint8Array(0), size: total, cut: true };
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  let cut = false;
  const reader = response.body.getReader();
  // A fetch loses its signal when its response is garbage-collected; the body's reader does not.
  const abort = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", abort, { once: true });
  while (!cut) {
    const { value, done } = await reader.read();
    signal.throwIfAborted();
    if (done) break;
    const part = value.subarray(0, limit - length);
    chunks.push(part);
    length += part.length;
    cut = part.length < value.length;
  }
  signal.removeEventListener("abort", abort);
  await reader.cancel();
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return { bytes, size: cut ? total : length, cut };
}

/** The media type without parameters; empty if there is none. */
export function mediaType(headers: Headers): string {
  return (headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
}

export function isHtml(type: string): boolean {
  return type === "text/html" || type === "application/xhtml+xml";
}

/** Whether a body is text, by its type or else its bytes. */
export function isTextBody(type: string, bytes: Uint8Array): boolean {
  return isTextType(type) ?? !bytes.subarray(0, 8 * 1024).includes(0);
}

/** Whether a type is text; undefined if the bytes must tell. */
export function isTextType(type: string): boolean | undefined {
  if (type === "" || type === "application/octet-stream") return undefined;
  return type.startsWith("text/") || TEXT_TYPE.test(type);
}

const TEXT_TYPE =
  /^(?:application|image|message|model)\/(?:.*\+)?(?:json|json5|jsonc|xml|x?html|yaml|x-yaml|toml|javascript|ecmascript|typescript|x-javascript|x-sh|x-ndjson|ndjson|jsonl|sql|graphql|x-www-form-urlencoded|rfc822|x-httpd-php)(?:-seq)?$/;

/** Decodes a text in the encoding of its header or, for HTML, of its beginning. */
export function decodeBody(bytes: Uint8Array, headers: Headers): string {
  const header = headers.get("content-type") ?? "";
  const start = isHtml(mediaType(headers))
    ? new TextDecoder("latin1").decode(bytes.subarray(0, 1024))
    : "";
  const declared = /charset\s*=\s*["']?([\w.:-]+)/i;
  const label = declared.exec(header)?.[1] ?? declared.exec(start)?.[1] ?? "utf-8";
  // As a stream: leaves out a character cut off at the limit.
  return decoderFor(label).decode(bytes, { stream: true });
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

/** A fetch's error without Deno's prefix. */
export function explainFetch(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // "error sending request for url (…): client error (Connect): tcp connect error: Connection …"
  return error.message.replace(/^error sending request for url \(.*?\): (?:client error )?/, "");
}
