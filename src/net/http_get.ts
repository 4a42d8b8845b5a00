/** HTTP GET, bounded in size, with redirects followed by hand so that each address is checked. */

import type { Egress } from "./egress.ts";

/** Why a page was not fetched; the message is for whoever asked. */
export class Refusal extends Error {
  override name = "Refusal";
}

export interface FollowOptions {
  /** An http or https address. */
  url: string;
  signal: AbortSignal;
  /** Looks at each address before it is asked. @throws {Refusal} when it may not be. */
  check?(url: URL): void | Promise<void>;
  /** The way out; Deno's own by default. */
  egress?: Egress;
}

export const MAX_REDIRECTS = 5;

/**
 * Asks for a URL and follows its redirects.
 *
 * @returns the answer, its body unread, and the address it came from.
 * @throws {Refusal} for an address that is not fetched or not reached; else as `fetch`.
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

/** As `fetch`, over a way out that knows why it did not connect. */
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
 * Reads an address that may be fetched.
 *
 * @param base where a redirect came from.
 * @throws {Refusal} when it is no http or https address, or carries credentials.
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

/** The port of an address, also where it is the protocol's own. */
export function portOf(url: URL): number {
  return Number(url.port || (url.protocol === "https:" ? 443 : 80));
}

/** As much of a body as was read. */
export interface Body {
  bytes: Uint8Array<ArrayBuffer>;
  /** The whole size where it is known. */
  size: number | undefined;
  cut: boolean;
}

/** Reads at most so many bytes, as they are after decompression; 0 reads nothing. */
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
  // A fetch forgets its signal once its response was collected as garbage; its body does not.
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

/** The media type of an answer, without its parameters; empty when it says none. */
export function mediaType(headers: Headers): string {
  return (headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
}

/** Whether a media type is an HTML page's. */
export function isHtml(type: string): boolean {
  return type === "text/html" || type === "application/xhtml+xml";
}

/** Whether a body is text: by its type, or where that does not tell, by its bytes. */
export function isTextBody(type: string, bytes: Uint8Array): boolean {
  return isTextType(type) ?? !bytes.subarray(0, 8 * 1024).includes(0);
}

/** Whether a type is text; `undefined` where the bytes must tell. */
export function isTextType(type: string): boolean | undefined {
  if (type === "" || type === "application/octet-stream") return undefined;
  return type.startsWith("text/") || TEXT_TYPE.test(type);
}

const TEXT_TYPE =
  /^(?:application|image|message|model)\/(?:.*\+)?(?:json|json5|jsonc|xml|x?html|yaml|x-yaml|toml|javascript|ecmascript|typescript|x-javascript|x-sh|x-ndjson|ndjson|jsonl|sql|graphql|x-www-form-urlencoded|rfc822|x-httpd-php)(?:-seq)?$/;

/** Decodes a text body in the encoding that its header or, for HTML, its beginning names. */
export function decodeBody(bytes: Uint8Array, headers: Headers): string {
  const header = headers.get("content-type") ?? "";
  const start = isHtml(mediaType(headers))
    ? new TextDecoder("latin1").decode(bytes.subarray(0, 1024))
    : "";
  const declared = /charset\s*=\s*["']?([\w.:-]+)/i;
  const label = declared.exec(header)?.[1] ?? declared.exec(start)?.[1] ?? "utf-8";
  // As a stream: a character cut off at the limit is left out, not shown broken.
  return decoderFor(label).decode(bytes, { stream: true });
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

/** What went wrong with a fetch, without what Deno puts around it. */
export function explainFetch(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // "error sending request for url (…): client error (Connect): tcp connect error: Connection …"
  return error.message.replace(/^error sending request for url \(.*?\): (?:client error )?/, "");
}
