/** Fetches releases over https, with limits for size and silence. */
import { SvcError } from "../../protocol/errors.ts";
import { explainFetch, follow, Refusal } from "../../net/http_get.ts";

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
/** The least silence after which a server is given up; at most twice as long. */
const SILENCE_MS = 30_000;

/** Parses a manifest's address. @throws {SvcError} validation unless https, or http on loopback. */
export function parseReleaseUrl(address: string): URL {
  const url = URL.parse(address);
  const problem = url === null ? "is not a URL" : insecurity(url);
  if (url === null || problem !== undefined) {
    throw new SvcError("validation", `${address} ${problem}`, {
      hint: "releases must come from an https address, or from http on 127.0.0.1",
    });
  }
  return url;
}

function insecurity({ protocol, hostname, username, password }: URL): string | undefined {
  if (username !== "" || password !== "") return "carries credentials";
  const secure = protocol === "https:" || (protocol === "http:" && LOOPBACK.test(hostname));
  return secure ? undefined : "is not an https address";
}

export interface FetchOptions {
  url: URL;
  /** In bytes. */
  limit: number;
  signal: AbortSignal;
}

/**
 * Yields a release's file in pieces.
 * @throws {SvcError} not_found, payload_too_large, timeout or internal; the signal's reason
 */
export async function* fetchFile(
  { url, limit, signal }: FetchOptions,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const silence = new AbortController();
  let heard = true;
  const timer = setInterval(() => {
    if (!heard) silence.abort(new SvcError("timeout", `${url.host} stopped sending data`));
    heard = false;
  }, SILENCE_MS);
  const either = AbortSignal.any([signal, silence.signal]);
  try {
    let size = 0;
    for await (const chunk of bodyOf(url, either)) {
      heard = true;
      size += chunk.length;
      if (size > limit) {
        throw new SvcError("payload_too_large", `${url} has more than the ${limit} bytes expected`);
      }
      yield chunk;
    }
  } finally {
    clearInterval(timer);
  }
}

async function* bodyOf(url: URL, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    for await (const chunk of await ask(url, signal)) {
      signal.throwIfAborted();
      yield chunk;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SvcError) throw error;
    throw new SvcError("internal", `${url} could not be fetched: ${explainFetch(error)}`, {
      hint: "nothing was changed; try again",
      cause: error,
    });
  }
}

async function ask(
  address: URL,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const { response, url } = await follow({
    url: address.href,
    signal,
    check(next) {
      const problem = insecurity(next);
      if (problem !== undefined) throw new Refusal(problem);
    },
  });
  if (response.ok && response.body !== null) return response.body;
  await response.body?.cancel();
  const code = response.status === 404 ? "not_found" : "internal";
  throw new SvcError(code, `${url} answers ${response.status}`, {
    hint: "check the address ([update] manifest_url in daemon.toml)",
  });
}

/** Like {@linkcode fetchFile}, in one piece. */
export async function fetchBytes(options: FetchOptions): Promise<Uint8Array<ArrayBuffer>> {
  return await new Response(ReadableStream.from(fetchFile(options))).bytes();
}
