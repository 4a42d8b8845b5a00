/** The wire formats of providers, and their addresses. */

export type ProviderKind = "anthropic" | "openai" | "google" | "openai-compatible";

/** OpenAI's two interfaces. Compatible servers often have only chat completions. */
export type OpenAiApi = "responses" | "chat";

/**
 * Returns which interface to use: the configured one, else responses at OpenAI itself, whose newer
 * models answer nothing else, and chat completions elsewhere.
 */
export function openAiApi({ api, base_url }: { api?: OpenAiApi; base_url?: string }): OpenAiApi {
  if (api !== undefined) return api;
  const address = addressOf({ kind: "openai", base_url });
  return address === DEFAULT_URLS.openai ? "responses" : "chat";
}

/** Returns a provider's HTTP base URL without a trailing slash, if it has one. */
export function addressOf(
  { kind, base_url = DEFAULT_URLS[kind] }: { kind: ProviderKind; base_url?: string },
): string | undefined {
  const url = base_url === undefined ? null : URL.parse(base_url);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  let path = url.pathname.replace(/\/+$/, "");
  // Other tools expect ANTHROPIC_BASE_URL and Google's address without the version.
  const version = VERSIONS[kind];
  if (version !== undefined && !/\/v\d\w*$/.test(path)) path += version;
  return url.origin + path;
}

const DEFAULT_URLS: Record<ProviderKind, string | undefined> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
  "openai-compatible": undefined,
};

const VERSIONS: Partial<Record<ProviderKind, string>> = {
  anthropic: "/v1",
  google: "/v1beta",
};
