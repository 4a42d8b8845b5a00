import type { OpenAiApi, ProviderKind } from "./provider_address.ts";

/** A provider that needs no table in daemon.toml. */
export interface Preset {
  kind: ProviderKind;
  /** The first variable that is set is used; empty: the provider needs no key. */
  key_env: readonly string[];
  base_url_env?: string;
  base_url?: string;
  /** Added to an address without a path. */
  path?: string;
  api?: OpenAiApi;
  /** The model if this provider is the default. */
  model?: string;
  /** A fast and cheap model, for small requests. */
  small?: string;
  quirks?: Quirks;
  /** Where it issues keys in the browser, relative to its base URL; see `pkce_login.ts`. */
  pkce?: { authorize: string; exchange: string };
}

/** Where a provider differs from others with its wire format. */
export interface Quirks {
  /** The header with the key, if it is another one. */
  key_header?: string;
  /** It refuses `stream_options`, and counts tokens without. */
  no_stream_options?: true;
  /** Ids of calls have nine letters and digits. */
  short_call_ids?: true;
  /** It wants back the reasoning before the calls of an answer. */
  reasoning_back?: true;
}

/** By name, in the order of preference for the default model. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  anthropic: {
    kind: "anthropic",
    key_env: ["ANTHROPIC_API_KEY"],
    base_url_env: "ANTHROPIC_BASE_URL",
    model: "claude-sonnet-4-5",
    small: "claude-haiku-4-5",
  },
  openai: {
    kind: "openai",
    key_env: ["OPENAI_API_KEY"],
    base_url_env: "OPENAI_BASE_URL",
    model: "gpt-5.1",
    small: "gpt-5-mini",
  },
  google: {
    kind: "google",
    key_env: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    model: "gemini-2.5-pro",
    small: "gemini-2.5-flash-lite",
  },
  openrouter: {
    kind: "openai-compatible",
    key_env: ["OPENROUTER_API_KEY"],
    base_url: "https://openrouter.ai/api/v1",
    model: "anthropic/claude-sonnet-4.5",
    small: "anthropic/claude-haiku-4.5",
    pkce: { authorize: "../../auth", exchange: "auth/keys" },
  },
  xai: {
    kind: "openai-compatible",
    key_env: ["XAI_API_KEY"],
    base_url: "https://api.x.ai/v1",
    model: "grok-4.5",
  },
  mistral: {
    kind: "openai-compatible",
    key_env: ["MISTRAL_API_KEY"],
    base_url: "https://api.mistral.ai/v1",
    model: "mistral-medium-latest",
    quirks: { no_stream_options: true, short_call_ids: true },
  },
  deepseek: {
    kind: "openai-compatible",
    key_env: ["DEEPSEEK_API_KEY"],
    base_url: "https://api.deepseek.com",
    model: "deepseek-v4-pro",
    quirks: { reasoning_back: true },
  },
  groq: {
    kind: "openai-compatible",
    key_env: ["GROQ_API_KEY"],
    base_url: "https://api.groq.com/openai/v1",
    model: "openai/gpt-oss-120b",
  },
  together: {
    kind: "openai-compatible",
    key_env: ["TOGETHER_API_KEY"],
    base_url: "https://api.together.xyz/v1",
  },
  fireworks: {
    kind: "openai-compatible",
    key_env: ["FIREWORKS_API_KEY"],
    base_url: "https://api.fireworks.ai/inference/v1",
  },
  // Each account has its own address and names for its deployments.
  azure: {
    kind: "openai",
    key_env: ["AZURE_OPENAI_API_KEY"],
    base_url_env: "AZURE_OPENAI_ENDPOINT",
    path: "/openai/v1",
    api: "responses",
    quirks: { key_header: "api-key" },
  },
  // Not GITHUB_TOKEN: that is set in many places, and may allow much more.
  "github-models": {
    kind: "openai-compatible",
    key_env: ["GITHUB_MODELS_TOKEN"],
    base_url: "https://models.github.ai/inference",
  },
  ollama: { kind: "openai-compatible", key_env: [] },
  lmstudio: { kind: "openai-compatible", key_env: [], base_url: "http://127.0.0.1:1234/v1" },
};

/** Returns the preset of a provider, if any. */
export function presetOf(name: string): Preset | undefined {
  return Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;
}
