/**
 * Fetches a web page for the model, with limits on size and time, and never from the daemon itself.
 */

import { lookup } from "node:dns/promises";
import { isMetadataHost, METADATA_REFUSED } from "../net/address.ts";
import { isOwnName } from "../net/allowed_hosts.ts";
import type { Egress } from "../net/egress.ts";
import {
  type Body,
  decodeBody,
  explainFetch,
  follow,
  isHtml,
  isTextBody,
  isTextType,
  mediaType,
  portOf,
  readBody,
  Refusal,
} from "../net/http_get.ts";
import { grouped } from "../jail/output.ts";

export interface FetchOptions {
  /** An http or https address. */
  url: string;
  signal: AbortSignal;
  /** The daemon's own port, refused at loopback addresses: it would reveal the token. */
  own_port?: number;
  /** The route for a caller that may not reach every address; default: Deno's own network. */
  egress?: Egress;
  /** Why an address, also of a redirect, must not be fetched. */
  mayReach?(url: string): Promise<string | undefined>;
  /** The most bytes of the body to read; default: 1 MiB. */
  max_bytes?: number;
  /** The most time for everything; default: 30 s. */
  timeout_ms?: number;
}

export interface FetchResult {
  /** Whether the status was 2xx. */
  ok: boolean;
  /**
   * A line with status, type, size and final address, then the text; or the reason for a failure.
   */
  output: string;
}

const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;
const ERROR_BODY_BYTES = 16 * 1024;
const ERROR_BODY_CHARACTERS = 2_000;
const LOOKUP_MS = 2_000;

/**
 * Fetches a URL and returns its text; HTML is reduced to readable text.
 *
 * @returns a result also for refused addresses and failing servers; its output then gives the
 * reason
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
    const { response, url } = await follow({
      url: options.url,
      signal: stop.signal,
      check: (url) => check(url, options),
      egress: options.egress,
    });
    return await describe(response, url, options.max_bytes ?? MAX_BYTES, stop.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    const cause = stop.signal.aborted ? stop.signal.reason : error;
    return { ok: false, output: `cannot fetch ${options.url}: ${explainFetch(cause)}` };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", onAbort);
    // Cancels a body that was not read to its end.
    stop.abort();
  }
}

/**
 * Refuses the daemon's own address and those where clouds hand out credentials. An egress checks
 * each connection itself, so that the name need not be resolved here.
 */
async function check(
  url: URL,
  { own_port, egress, mayReach }: Pick<FetchOptions, "own_port" | "egress" | "mayReach">,
): Promise<void> {
  const refused = await mayReach?.(url.href);
  if (refused !== undefined) throw new Refusal(refused);
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const is_own_port = portOf(url) === own_port;
  if (isMetadataHost(host)) throw new Refusal(`${host} ${METADATA_REFUSED}`);
  if (is_own_port && (isOwnName(host) || isLoopback(host))) throw new Refusal(OWN_ADDRESS);
  const is_address = host.includes(":") || /^[\d.]+$/.test(host);
  if (is_address || (egress !== undefined && !is_own_port)) return;
  const found = await resolved(host);
  if (is_own_port && (found === "late" || found.some(isLoopback))) throw new Refusal(OWN_ADDRESS);
  if (found !== "late" && found.some(isMetadataHost)) {
    throw new Refusal(`${host} ${METADATA_REFUSED}`);
  }
}

const OWN_ADDRESS = "that is an address of svc itself";

/**
 * Returns the addresses of a name. If it resolves differently a moment later, the daemon's check of
 * the Host header still refuses the request.
 */
async function resolved(host: string): Promise<string[] | "late"> {
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), LOOKUP_MS);
  try {
    const found = await Promise.race([lookup(host, { all: true }), late.promise]);
    return found === "late" ? found : found.map(({ address }) => address);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/** Spellings as the URL parser writes them: dotted decimal IPv4, compressed IPv6. */
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
  const type = mediaType(response.headers);
  const limit = response.ok ? max_bytes : Math.min(max_bytes, ERROR_BODY_BYTES);
  const body = await readBody(response, isTextType(type) === false ? 0 : limit, signal);
  const binary = !isTextBody(type, body.bytes);
  const text = binary
    ? body.size === 0 ? "" : "[binary content, not shown]"
    : await toText(body.bytes, response.headers, url);
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

function sizeOf({ bytes, size, cut }: Body): string {
  if (size !== undefined) return `${grouped(size)} bytes`;
  return cut && bytes.length > 0 ? `more than ${grouped(bytes.length)} bytes` : "size unknown";
}

async function toText(bytes: Uint8Array, headers: Headers, url: URL): Promise<string> {
  const text = decodeBody(bytes, headers);
  if (!isHtml(mediaType(headers))) return text.trimEnd();
  // Most sessions never fetch a page, so the parser is loaded at the first fetch.
  const { htmlToText } = await import("../net/html_text.ts");
  return await htmlToText(text, url.href);
}
