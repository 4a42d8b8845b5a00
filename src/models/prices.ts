/** The list price of model calls. */

import type { Usage } from "./model.ts";

/** USD per million tokens. */
export interface Price {
  input: number;
  output: number;
  /** Input read from the provider's cache. */
  cache_read: number;
  /** Input written to the provider's cache. */
  cache_write: number;
  /** The price of the whole call when its input is longer than `over` tokens. */
  long?: { over: number } & Omit<Price, "long">;
}

/** The price of a call, and whether the model is in the table; if not, `usd` is 0. */
export interface Cost {
  usd: number;
  known: boolean;
}

/**
 * Returns the cost of one model call. An id with a date (`anthropic/claude-sonnet-4-5-20250929`)
 * has the price of the id without it; other variants (`openai/gpt-5-pro`) have their own.
 *
 * @param overrides prices by model id; they take precedence over the table
 */
export function costUsd(
  model_id: string,
  usage: Usage,
  overrides: Readonly<Record<string, Price>> = {},
): Cost {
  const price = priceOf(model_id, overrides);
  if (price === undefined) {
    return { usd: 0, known: /^(builtin|ollama)\//.test(model_id) };
  }
  const rate = price.long !== undefined && usage.tokens_in > price.long.over ? price.long : price;
  const plain = Math.max(0, usage.tokens_in - usage.tokens_cached - usage.tokens_cache_write);
  const millionths = plain * rate.input +
    usage.tokens_cached * rate.cache_read +
    usage.tokens_cache_write * rate.cache_write +
    usage.tokens_out * rate.output;
  return { usd: millionths / 1e6, known: true };
}

/** Returns the price of a model, which the overrides or the table know; otherwise undefined. */
export function priceOf(
  id: string,
  overrides: Readonly<Record<string, Price>> = {},
): Price | undefined {
  return priceIn(id, overrides) ?? priceIn(id, PRICES);
}

/** Returns the ids that have a price, for suggestions. */
export function pricedModels(): string[] {
  return Object.keys(PRICES);
}

/** Suffixes that do not make a name another model's. */
const SAME_MODEL = /^([-@](\d{8}|\d{4}-\d{2}-\d{2}|latest|00\d))?$/;

function priceIn(id: string, table: Readonly<Record<string, Price>>): Price | undefined {
  let longest = "";
  for (const name of Object.keys(table)) {
    const matches = id.startsWith(name) && SAME_MODEL.test(id.slice(name.length));
    if (matches && name.length > longest.length) longest = name;
  }
  return longest === "" ? undefined : table[longest];
}

/** Anthropic writes to its cache (5 minutes) at 1.25 times and reads at a tenth of the price. */
function claude(input: number, output: number): Price {
  return { input, output, cache_read: input / 10, cache_write: input * 1.25 };
}

/** OpenAI and Google charge the same for writing to the cache as for reading input. */
function plain(input: number, output: number, cache_read: number): Price {
  return { input, output, cache_read, cache_write: input };
}

const PRICES: Readonly<Record<string, Price>> = {
  "anthropic/claude-opus-4-6": claude(5, 25),
  "anthropic/claude-opus-4-5": claude(5, 25),
  "anthropic/claude-opus-4-1": claude(15, 75),
  "anthropic/claude-opus-4": claude(15, 75),
  "anthropic/claude-opus-4-0": claude(15, 75),
  "anthropic/claude-sonnet-4-6": claude(3, 15),
  "anthropic/claude-sonnet-4-5": claude(3, 15),
  "anthropic/claude-sonnet-4": claude(3, 15),
  "anthropic/claude-sonnet-4-0": claude(3, 15),
  "anthropic/claude-3-7-sonnet": claude(3, 15),
  "anthropic/claude-3-5-sonnet": claude(3, 15),
  "anthropic/claude-haiku-4-5": claude(1, 5),
  "anthropic/claude-3-5-haiku": claude(0.8, 4),

  "openai/gpt-5.2": plain(1.75, 14, 0.175),
  "openai/gpt-5.1": plain(1.25, 10, 0.125),
  "openai/gpt-5": plain(1.25, 10, 0.125),
  "openai/gpt-5-mini": plain(0.25, 2, 0.025),
  "openai/gpt-5-nano": plain(0.05, 0.4, 0.005),
  "openai/gpt-4.1": plain(2, 8, 0.5),
  "openai/gpt-4.1-mini": plain(0.4, 1.6, 0.1),
  "openai/gpt-4.1-nano": plain(0.1, 0.4, 0.025),
  "openai/gpt-4o": plain(2.5, 10, 1.25),
  "openai/gpt-4o-2024-05-13": plain(5, 15, 5),
  "openai/gpt-4o-mini": plain(0.15, 0.6, 0.075),
  "openai/o3": plain(2, 8, 0.5),
  "openai/o4-mini": plain(1.1, 4.4, 0.275),
  "openai/o3-mini": plain(1.1, 4.4, 0.55),

  "google/gemini-3-pro-preview": {
    ...plain(2, 12, 0.2),
    long: { over: 200_000, ...plain(4, 18, 0.4) },
  },
  "google/gemini-2.5-pro": {
    ...plain(1.25, 10, 0.125),
    long: { over: 200_000, ...plain(2.5, 15, 0.25) },
  },
  "google/gemini-2.5-flash": plain(0.3, 2.5, 0.03),
  "google/gemini-2.5-flash-lite": plain(0.1, 0.4, 0.01),
  "google/gemini-2.0-flash": plain(0.1, 0.4, 0.025),
};
