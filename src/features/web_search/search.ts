/** Web search with the configured provider. */
import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { type Body, explainFetch, readBody } from "../../net/http_get.ts";
import type { Env } from "../../os/paths.ts";
import type { SearchConfig, SearchProvider } from "./config.ts";

/** A search that failed for a reason that may be temporary; the message says which. */
export class SearchUnavailable extends Error {
  override name = "SearchUnavailable";
}

/** One result, as far as the provider describes it. */
export interface SearchHit {
  url: string;
  title: string;
  snippet: string;
}

export interface SearchOptions {
  config: SearchConfig;
  env: Env;
  query: string;
  /** The most results. */
  count: number;
  signal: AbortSignal;
  /** The time limit; default: 20,000. */
  timeout_ms?: number;
}

const SEARCH_MS = 20_000;
const ANSWER_MAX = 4 * 1024 * 1024;
/** The longest query for Brave and Tavily, in characters. */
const QUERY_MAX = 400;
/** The most results from Brave and Tavily. */
const RESULTS_MAX = 20;
/** Statuses after which a retry may succeed. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** The longest title and snippet that are kept, in characters. */
const TEXT_MAX = 400;

/** Text that a provider may have marked up, in one line. */
const text = () =>
  z.string().nullish().catch("").transform((it) =>
    (it ?? "").slice(0, 10 * TEXT_MAX).replace(/<[^>]*>/g, "").replace(/\s+/g, " ").trim()
      .slice(0, TEXT_MAX)
  );
const results = z.array(
  z.object({ url: z.string(), title: text(), content: text(), description: text() })
    .transform(({ url, title, content, description }): SearchHit => ({
      url,
      title,
      snippet: content || description,
    })),
);
const ANSWER = z.union([
  z.object({ results }),
  // Brave nests the results one level deeper, and omits them when nothing was found.
  z.object({ type: z.literal("search"), web: z.object({ results }).default({ results: [] }) })
    .transform(({ web }) => web),
]);

/**
 * Searches the web.
 *
 * @returns results, best first, each address once; none when nothing was found
 * @throws {SvcError} validation when the key is missing; internal when the provider refuses it or
 * does not respond as documented
 * @throws {SearchUnavailable} when the provider is unreachable, too busy or limits the rate
 * @throws the signal's reason
 */
export async function search(options: SearchOptions): Promise<SearchHit[]> {
  const { config: { provider }, count, timeout_ms = SEARCH_MS } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeout_ms)]);
  const request = requestOf(options, signal);
  let response: Response;
  let body: Body;
  try {
    response = await fetch(request);
    body = await readBody(response, ANSWER_MAX, signal);
  } catch (error) {
    options.signal.throwIfAborted();
    const why = signal.aborted ? `no answer within ${timeout_ms / 1000} s` : explainFetch(error);
    throw new SearchUnavailable(`the search with ${provider} failed: ${why}`, { cause: error });
  }
  if (!response.ok) throw refusal(provider, response);
  if (body.cut) throw wrong(provider, `answered with more than ${ANSWER_MAX} bytes`);
  const parsed = ANSWER.safeParse(parseJson(new TextDecoder().decode(body.bytes)));
  if (!parsed.success) throw wrong(provider, "returned no list of results");
  const by_url = new Map<string, SearchHit>();
  for (const hit of parsed.data.results) if (!by_url.has(hit.url)) by_url.set(hit.url, hit);
  return [...by_url.values()].slice(0, count);
}

/** Returns why a provider gave no answer, from its status. */
function refusal(provider: SearchProvider, { status, headers }: Response): Error {
  const after = headers.get("retry-after");
  const wait = after === null ? "" : `, retry after ${after.slice(0, 40)}`;
  const what = `answered HTTP ${status}${wait}`;
  if (PASSING.has(status)) return new SearchUnavailable(`the search with ${provider} ${what}`);
  return wrong(provider, `${what}: ${mend(provider, status)}`);
}

/** Returns what the operator can do about a status. */
function mend(provider: SearchProvider, status: number): string {
  if (status === 403 && provider === "searxng") return "enable the format json in its settings.yml";
  if ([401, 402, 403, 422].includes(status)) return "check its key and plan";
  return "check [search] base_url in daemon.toml";
}

function wrong(provider: SearchProvider, what: string): SvcError {
  return new SvcError("internal", `the search with ${provider} ${what}`);
}

function requestOf({ config, env, query, count }: SearchOptions, signal: AbortSignal): Request {
  const key = config.api_key_env === undefined ? "" : env(config.api_key_env) ?? "";
  const q = query.slice(0, QUERY_MAX);
  const max = Math.min(count, RESULTS_MAX);
  // Following a redirect would send the key to another host.
  const init = { signal, redirect: "manual" as const };
  switch (config.provider) {
    case "searxng": {
      const url = new URL("search", withSlash(config.base_url));
      url.search = String(new URLSearchParams({ q, format: "json" }));
      const headers = new Headers(key === "" ? {} : { authorization: `Bearer ${key}` });
      return new Request(url, { ...init, headers });
    }
    case "brave": {
      const base_url = withSlash(config.base_url ?? "https://api.search.brave.com/");
      const url = new URL("res/v1/web/search", base_url);
      url.search = String(new URLSearchParams({ q, count: String(max) }));
      const headers = { "x-subscription-token": required(key, config), accept: "application/json" };
      return new Request(url, { ...init, headers });
    }
    case "tavily": {
      const url = new URL("search", withSlash(config.base_url ?? "https://api.tavily.com/"));
      const headers = {
        authorization: `Bearer ${required(key, config)}`,
        "content-type": "application/json",
      };
      const body = JSON.stringify({ query: q, max_results: max });
      return new Request(url, { ...init, method: "POST", headers, body });
    }
  }
}

function withSlash(base_url: string | undefined): string {
  if (base_url === undefined) {
    throw new SvcError("validation", "[search] needs base_url for SearXNG in daemon.toml");
  }
  return base_url.endsWith("/") ? base_url : `${base_url}/`;
}

function required(key: string, { provider, api_key_env }: SearchConfig): string {
  if (key !== "") return key;
  throw new SvcError(
    "validation",
    `the search with ${provider} has no key: set [search] api_key_env in daemon.toml and ` +
      `${api_key_env ?? "that variable"} in the daemon's environment`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
