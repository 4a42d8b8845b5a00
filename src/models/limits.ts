/** How much a model takes and gives, in tokens. */

/** The limits of a model. */
export interface Limits {
  /** Of a conversation with its answer. */
  context_tokens: number;
  /** Of an answer, thinking included. */
  output_tokens: number;
  /**
   * Whether its conversations are made shorter. The embedded instruction language carries out what
   * was said since it last answered, so it must never be given earlier messages again.
   */
  compacts: boolean;
}

/** Limits that daemon.toml gives, which beat the table. */
export interface LimitOverrides {
  context_tokens?: number;
  output_tokens?: number;
}

/** For a model that is not in the table. One that takes less says so when it refuses. */
const UNKNOWN: Known = [128_000, 16_384];
/** An answer is not asked to be longer, whatever the model could. */
export const OUTPUT_MAX = 32_000;

type Known = readonly [context_tokens: number, output_tokens: number];

/** By the beginning of the model's name, the longest that fits. */
const KNOWN: Readonly<Record<string, Known>> = {
  "claude-": [200_000, 64_000],
  "claude-opus-4": [200_000, 32_000],
  "claude-3": [200_000, 8_192],
  "claude-3-7": [200_000, 64_000],
  "gpt-5": [400_000, 128_000],
  "gpt-4.1": [1_047_576, 32_768],
  "gpt-4o": [128_000, 16_384],
  "gpt-4o-2024-05-13": [128_000, 4_096],
  "gpt-oss": [131_072, 32_768],
  "o3": [200_000, 100_000],
  "o4-mini": [200_000, 100_000],
  "gemini-": [1_048_576, 65_536],
  "gemini-2.0": [1_048_576, 8_192],
  "deepseek": [128_000, 8_192],
  "grok-4": [256_000, 32_000],
  "mistral": [128_000, 16_384],
  "codestral": [256_000, 16_384],
  "devstral": [128_000, 16_384],
  "qwen3-coder": [262_144, 65_536],
  "kimi-k2": [262_144, 32_000],
};

/** Providers that run models with less context than these could have. */
const PROVIDERS: Readonly<Record<string, Known>> = {
  // It cuts a longer conversation without a word, and its default depends on the machine.
  "ollama": [32_768, 8_192],
  "builtin": [128_000, 16_384],
};

/** The limits of a model by its id, `<provider>/<model>`. */
export function limitsOf(id: string, overrides: LimitOverrides = {}): Limits {
  const [provider, ...names] = id.split("/");
  // Resellers put the maker before the name, and a dot where the maker has a dash.
  const name = names.at(-1) ?? "";
  let known: Known | undefined = Object.hasOwn(PROVIDERS, provider)
    ? PROVIDERS[provider]
    : undefined;
  if (known === undefined) {
    let longest = "";
    for (const start of Object.keys(KNOWN)) {
      const fits = name.startsWith(start) || name.replaceAll(".", "-").startsWith(start);
      if (fits && start.length > longest.length) longest = start;
    }
    known = longest === "" ? UNKNOWN : KNOWN[longest];
  }
  const { context_tokens = known[0] } = overrides;
  const most = Math.min(known[1], OUTPUT_MAX, Math.floor(context_tokens / 4));
  const { output_tokens = most } = overrides;
  return { context_tokens, output_tokens, compacts: provider !== "builtin" };
}
