/** How many tokens a model accepts and writes. */
import type { ModelFacts } from "./catalogue.ts";

export interface Limits {
  /** A conversation with its answer. */
  context_tokens: number;
  /** An answer, thinking included. */
  output_tokens: number;
  /**
   * False for the embedded language: it executes everything since its last answer, so it must never
   * receive earlier messages again.
   */
  compacts: boolean;
}

/** Limits from daemon.toml. */
export type LimitOverrides = Partial<Omit<Limits, "compacts">>;

/** For unknown models. A model with a lower limit says so when it refuses. */
const UNKNOWN: Known = [128_000, 16_384];
/** The longest answer that svc asks for, even if the model could write more. */
export const OUTPUT_MAX = 32_000;

type Known = readonly [context_tokens: number, output_tokens: number];

/** For models that the catalogue lacks, by the longest matching start of the name. */
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

/** Providers that run models with less context than the models support. */
const PROVIDERS: Readonly<Record<string, Known>> = {
  // Ollama cuts longer conversations silently, and its default depends on the machine.
  "ollama": [32_768, 8_192],
  "builtin": [128_000, 16_384],
};

/** Returns the limits of `<provider>/<model>`. @param facts from the catalogue */
export function limitsOf(
  id: string,
  overrides: LimitOverrides = {},
  facts: ModelFacts = {},
): Limits {
  const known = find(id, facts) ?? UNKNOWN;
  const { context_tokens = known[0] } = overrides;
  const most = Math.min(known[1], OUTPUT_MAX, Math.floor(context_tokens / 4));
  const { output_tokens = most } = overrides;
  return { context_tokens, output_tokens, compacts: !id.startsWith("builtin/") };
}

/** Returns the limits of a model whose context is known. */
export function knownLimits(
  id: string,
  overrides: LimitOverrides = {},
  facts: ModelFacts = {},
): Limits | undefined {
  const known = overrides.context_tokens !== undefined || find(id, facts) !== undefined;
  return known ? limitsOf(id, overrides, facts) : undefined;
}

function find(id: string, { context_tokens, output_tokens }: ModelFacts): Known | undefined {
  const [provider, ...names] = id.split("/");
  if (Object.hasOwn(PROVIDERS, provider)) return PROVIDERS[provider];
  const named = byNameStart(names.join("/"), KNOWN);
  if (context_tokens === undefined) return named;
  return [context_tokens, output_tokens ?? named?.[1] ?? UNKNOWN[1]];
}

/** Looks a model up by the longest matching start of its name. @param model without the provider */
export function byNameStart<T>(model: string, table: Readonly<Record<string, T>>): T | undefined {
  // Resellers put the maker before the name, and write dots for dashes.
  const name = model.split("/").at(-1) ?? "";
  let longest = "";
  for (const start of Object.keys(table)) {
    const fits = name.startsWith(start) || name.replaceAll(".", "-").startsWith(start);
    if (fits && start.length > longest.length) longest = start;
  }
  return longest === "" ? undefined : table[longest];
}
