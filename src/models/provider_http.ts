/** How to reach a provider: its address, our credentials, and the `fetch` to use. */

import { AnswerClock } from "./answer_clock.ts";
import { TextJoiner } from "./joined_text.ts";
import type { AnswerLimits } from "./answer_limits.ts";
import { ModelError } from "./model.ts";
import { presetOf } from "./presets.ts";
import { addressOf } from "./provider_address.ts";
import { type ProviderContext, unreachable } from "./provider_errors.ts";
import type { ProviderConfig } from "./providers.ts";

/** Returns the key, if any, in the provider's header. */
export function headersOf(config: ProviderConfig): Record<string, string> {
  const headers: Record<string, string> = {};
  if (config.kind === "anthropic") headers["anthropic-version"] = "2023-06-01";
  if (config.api_key) {
    switch (config.kind) {
      case "anthropic":
        headers["x-api-key"] = config.api_key;
        break;
      case "google":
        headers["x-goog-api-key"] = config.api_key;
        break;
      default: {
        const { key_header } = config.quirks ?? {};
        if (key_header === undefined) headers["authorization"] = `Bearer ${config.api_key}`;
        else headers[key_header] = config.api_key;
      }
    }
  }
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Returns a `fetch` that reports connection failures and enforces the time limits. */
export function fetchFor(context: ProviderContext, limits: AnswerLimits): typeof fetch {
  return async (input, given) => {
    const init = given as globalThis.RequestInit | undefined;
    const clock = new AnswerClock(limits, context.name);
    const stop = new AbortController();
    const signal = init?.signal ? AbortSignal.any([init.signal, stop.signal]) : stop.signal;
    // Following a redirect would send the key to a host that nobody configured.
    const asked = fetch(input, { ...init, signal, redirect: "manual" });
    try {
      const response = await clock.within(asked, init?.signal);
      if (response.body === null) return response;
      const streams = response.headers.get("content-type")?.startsWith("text/event-stream");
      const joiner = streams ? new TextJoiner() : undefined;
      return new Response(clock.limited(response.body, init?.signal, joiner), response);
    } catch (error) {
      stop.abort();
      // An answer that begins in this very moment has no other reader.
      asked.then(({ body }) => body?.cancel()).catch(() => {});
      if (init?.signal?.aborted || !(error instanceof TypeError)) throw error;
      throw unreachable(error, context);
    }
  };
}

/**
 * Returns the provider's address without a trailing slash.
 *
 * @throws {ModelError} if it has none, or not an HTTP one
 */
export function baseUrl(config: ProviderConfig): string {
  const address = addressOf(config);
  if (address !== undefined) return address;
  const { name, base_url } = config;
  const { base_url_env } = presetOf(name) ?? {};
  const variable = base_url_env === undefined ? "" : `${base_url_env} for the daemon, or `;
  throw new ModelError(
    base_url === undefined || base_url === ""
      ? `${name} has no address; set ${variable}base_url in [models.${name}]`
      : `base_url of ${name} is not an HTTP address: got "${base_url}", expected e.g. ` +
        `"http://127.0.0.1:11434/v1"`,
    { retryable: false },
  );
}

/** Returns what errors of a provider mention. @throws {ModelError} like {@linkcode baseUrl} */
export function contextOf(config: ProviderConfig): ProviderContext {
  const { name, key_source = `api_key_env of [models.${name}] in daemon.toml` } = config;
  return { name, base_url: baseUrl(config), key_source, secrets: secretsOf(config) };
}

/** Returns the key and the values of headers that look like one. */
function secretsOf(config: ProviderConfig): string[] {
  const values = Object.values(config.headers ?? {})
    .map((value) => value.replace(/^(Bearer|Basic) /i, ""))
    .filter((value) => value.length >= 16);
  if (config.api_key !== undefined && config.api_key !== "") values.unshift(config.api_key);
  return values;
}
