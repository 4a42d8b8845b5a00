/** Web search by the operator's provider. */
import * as z from "zod";
import { SvcError } from "../../../platform/errors.ts";
import { explainFetch, readBody } from "../../../platform/http_get.ts";
import type { Env } from "../../../platform/paths.ts";

export type SearchProvider = "searxng" | "brave" | "tavily";

/** `[search]` of daemon.toml. */
export interface SearchConfig {
  provider: SearchProvider;
  /** Of the provider; needed for SearXNG, which everyone runs for themselves. */
  base_url?: string;
  /** The variable of the daemon's environment that holds the key. */
  api_key_env?: string;
}

export interface SearchOptions {
  config: SearchConfig;
  env: Env;
  query: string;
  /** Results at most. */
  count: number;
  signal: AbortSignal;
}

const SEARCH_MS = 20_000;
const ANSWER_MAX = 4 * 1024 * 1024;

const results = z.array(z.object({ url: z.string() }));
const ANSWER = z.object({
  /** Brave has its results one level further down. */
  results: results.optional(),
  web: z.object({ results }).optional(),
});

/** Searches. @returns addresses, best first. @throws {SvcError} validation or internal. */
export async function search(options: SearchOptions): Promise<string[]> {
  const { config: { provider }, count } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(SEARCH_MS)]);
  let text: string;
  try {
    const response = await fetch(requestOf(options, signal));
    text = new TextDecoder().decode((await readBody(response, ANSWER_MAX, signal)).bytes);
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof SvcError) throw error;
    throw new SvcError("internal", `the search with ${provider} failed: ${explainFetch(error)}`, {
      cause: error,
    });
  }
  const parsed = ANSWER.safeParse(parseJson(text));
  const found = parsed.data?.results ?? parsed.data?.web?.results;
  if (found === undefined) {
    throw new SvcError("internal", `the search with ${provider} gave no list of results`, {
      hint: provider === "searxng" ? "allow the format json in its settings.yml" : undefined,
    });
  }
  return [...new Set(found.map(({ url }) => url))].slice(0, count);
}

function requestOf({ config, env, query, count }: SearchOptions, signal: AbortSignal): Request {
  const key = config.api_key_env === undefined ? undefined : env(config.api_key_env);
  switch (config.provider) {
    case "searxng": {
      const url = new URL("search", withSlash(config.base_url));
      url.search = String(new URLSearchParams({ q: query, format: "json" }));
      const headers = key === undefined ? undefined : { authorization: `Bearer ${key}` };
      return new Request(url, { signal, headers });
    }
    case "brave": {
      const url = new URL(
        "res/v1/web/search",
        withSlash(config.base_url ?? "https://api.search.brave.com/"),
      );
      url.search = String(new URLSearchParams({ q: query, count: String(Math.min(count, 20)) }));
      const headers = { "x-subscription-token": required(key, config), accept: "application/json" };
      return new Request(url, { signal, headers });
    }
    case "tavily":
      return new Request(
        new URL("search", withSlash(config.base_url ?? "https://api.tavily.com/")),
        {
          method: "POST",
          signal,
          headers: {
            authorization: `Bearer ${required(key, config)}`,
            "content-type": "application/json",
          },
          body: JSON.stringify({ query, max_results: Math.min(count, 20) }),
        },
      );
  }
}

function withSlash(base_url: string | undefined): string {
  if (base_url === undefined) {
    throw new SvcError("validation", "[search] needs base_url for SearXNG in daemon.toml");
  }
  return base_url.endsWith("/") ? base_url : `${base_url}/`;
}

function required(key: string | undefined, { provider, api_key_env }: SearchConfig): string {
  if (key !== undefined) return key;
  throw new SvcError("validation", `the search with ${provider} has no key`, {
    hint: `set [search] api_key_env in daemon.toml and ${api_key_env ?? "that variable"} where ` +
      "the daemon is started",
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
