/** Fetches a web page for the model: bounded in size and time, and never from the daemon itself. */

import { lookup } from "node:dns/promises";
import { grouped } from "./output.ts";

/** What {@linkcode fetchUrl} fetches and how far it goes. */
export interface FetchOptions {
  /** An http or https address. */
  url: string;
  /** Ends it. */
  signal: AbortSignal;
  /** The daemon's own port: a loopback address with it is refused, it would hand out the token. */
  own_port?: number;
  /** The most of the body that is read, 1 MiB by default. */
  max_bytes?: number;
  /** The most time that it all takes, 30 s by default. */
  timeout_ms?: number;
}

/** What the model is told. */
export interface FetchResult {
  /** Whether a 2xx answer came. */
  ok: boolean;
  /** A line with status, type, size and final address, then the text; or why there is none. */
  output: string;
}

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;
const ERROR_BODY_BYTES = 16 * 1024;
const ERROR_BODY_CHARACTERS = 2_000;
const LOOKUP_MS = 2_000;

/** Why there is nothing to show; its message is for the model. */
class Refusal extends Error {}

/**
 * Fetches a URL and gives its text; HTML is reduced to what a reader would see.
 *
 * @returns also for addresses that are refused and servers that fail: the output then says why
 * @throws the signal's reason when it was aborted
 *
 * @example
 * ```ts
 * const { signal } = new AbortController();
 * const { ok, output } = await fetchUrl({ url: "https://example.com/", signal });
 * ```
 */
export async function fetchUrl(options: FetchOptions): Promise<FetchResult> {
  options.signal.throwIfAborted();
  const stop = new AbortController();
  const timeout_ms = options.timeout_ms ?? TIMEOUT_MS;
  const onAbort = () => stop.abort(options.signal.reason);
  const timer = setTimeout(
    () => stop.abort(new Refusal(`no complete answer within ${timeout_ms / 1000} s`)),
    timeout_ms,
  );
  options.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const { response, url } = await follow(options, stop.signal);
    return await describe(response, url, options.max_bytes ?? MAX_BYTES, stop.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    const cause = stop.signal.aborted ? stop.signal.reason : error;
    return { ok: false, output: `cannot fetch ${options.url}: ${explain(cause)}` };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", onAbort);
    // Ends a body that was not read to its end.
    stop.abort();
  }
}

/** Follows redirects by hand, so that each address is checked before it is asked. */
async function follow(
  { url, own_port }: FetchOptions,
  signal: AbortSignal,
): Promise<{ response: Response; url: URL }> {
  let next = await check(url, undefined, own_port);
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const response = await fetch(next, {
      redirect: "manual",
      signal,
      headers: { accept: "text/html, text/*, application/json, */*;q=0.5", "user-agent": "svc" },
    });
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) {
      return { response, url: next };
    }
    await response.body?.cancel();
    next = await check(location, next, own_port);
  }
  throw new Refusal(`more than ${MAX_REDIRECTS} redirects`);
}

async function check(address: string, base: URL | undefined, own_port?: number): Promise<URL> {
  const url = URL.parse(address, base);
  const redirected = base === undefined ? "" : `redirected to ${address}: `;
  if (url === null) throw new Refusal(`${redirected}not a valid URL`);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Refusal(`${redirected}only http and https are fetched, not ${url.protocol}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new Refusal(`${redirected}credentials in a URL are not sent`);
  }
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  if (port === own_port && await leadsToLoopback(url.hostname)) {
    throw new Refusal(`${redirected}that is this program's own address`);
  }
  return url;
}

/**
 * Whether the host is this machine, by name or as the system resolves it. A name that resolves
 * otherwise a moment later still meets the daemon's own check of the Host header.
 */
async function leadsToLoopback(hostname: string): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (host === "localhost" || host.endsWith(".localhost") || isLoopback(host)) return true;
  if (host.includes(":") || /^[\d.]+$/.test(host)) return false;
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), LOOKUP_MS);
  try {
    const found = await Promise.race([lookup(host, { all: true }), late.promise]);
    return found === "late" || found.some(({ address }) => isLoopback(address));
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}

/** Spellings are those of the URL parser: dotted decimal IPv4, compressed IPv6. */
function isLoopback(address: string): boolean {
  // 0.0.0.0 and :: reach this machine; ::ffff:7f00:1 and ::7f00:1 are 127.0.0.1 in IPv6.
  return /^(?:127\.|0\.|::1?$|::(?:ffff:)?(?:7f[0-9a-f]{2}:|0:|(?:127|0)\.))/i.test(address);
}

async function describe(
  response: Response,
  url: URL,
  max_bytes: number,
  signal: AbortSignal,
): Promise<FetchResult> {
  const header = response.headers.get("content-type") ?? "";
  const type = header.split(";")[0].trim().toLowerCase();
  const limit = response.ok ? max_bytes : Math.min(max_bytes, ERROR_BODY_BYTES);
  const body = await read(response, isText(type) === false ? 0 : limit, signal);
  const binary = isText(type) === false || (isText(type) === undefined && looksBinary(body.bytes));
  const text = binary
    ? body.size === 0 ? "" : "[binary content, not shown]"
    : await toText(body.bytes, header, type, url);
  return {
    ok: response.ok,
    output: [
      [
        `HTTP ${response.status} ${type || "no content type"}`,
        sizeOf(body),
        url.href,
      ].join(" · "),
      response.ok || text.length <= ERROR_BODY_CHARACTERS
        ? text
        : `${text.slice(0, ERROR_BODY_CHARACTERS)}…`,
      ...(body.cut && !binary && response.ok
        ? [`[… cut after ${grouped(body.bytes.length)} bytes …]`]
        : []),
    ].filter((part) => part !== "").join("\n"),
  };
}

interface Body {
  bytes: Uint8Array;
  /** The whole size where it is known. */
  size: number | undefined;
  cut: boolean;
}

/** Reads at most so many bytes, as they are after decompression. */
async function read(response: Response, limit: number, signal: AbortSignal): Promise<Body> {
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

function sizeOf({ bytes, size, cut }: Body): string {
  if (size !== undefined) return `${grouped(size)} bytes`;
  return cut && bytes.length > 0 ? `more than ${grouped(bytes.length)} bytes` : "size unknown";
}

/** Whether a type is text; `undefined` where the bytes must tell. */
function isText(type: string): boolean | undefined {
  if (type === "" || type === "application/octet-stream") return undefined;
  return type.startsWith("text/") || TEXT_TYPE.test(type);
}

const TEXT_TYPE =
  /^(?:application|image|message|model)\/(?:.*\+)?(?:json|json5|jsonc|xml|x?html|yaml|x-yaml|toml|javascript|ecmascript|typescript|x-javascript|x-sh|x-ndjson|ndjson|jsonl|sql|graphql|x-www-form-urlencoded|rfc822|x-httpd-php)(?:-seq)?$/;

function looksBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8 * 1024).includes(0);
}

async function toText(
  bytes: Uint8Array,
  header: string,
  type: string,
  url: URL,
): Promise<string> {
  const html = type === "text/html" || type === "application/xhtml+xml";
  const declared = /charset\s*=\s*["']?([\w.:-]+)/i;
  const start = html ? new TextDecoder("latin1").decode(bytes.subarray(0, 1024)) : "";
  const label = declared.exec(header)?.[1] ?? declared.exec(start)?.[1] ?? "utf-8";
  // As a stream: a character cut off at the limit is left out, not shown broken.
  const text = decoderFor(label).decode(bytes, { stream: true });
  if (!html) return text.trimEnd();
  // Most sessions never fetch a page: the parser is loaded by the first.
  const { htmlToText } = await import("./html_text.ts");
  return await htmlToText(text, url.href);
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // "error sending request for url (…): client error (Connect): tcp connect error: Connection …"
  return error.message.replace(/^error sending request for url \(.*?\): (?:client error )?/, "");
}
