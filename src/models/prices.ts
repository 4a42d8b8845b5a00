/** The list price of model calls. */

import type { Catalogue } from "./catalogue.ts";
import type { Usage } from "./model.ts";
import type { Price } from "./price.ts";

/** `usd` is 0 if the price is not known. */
export interface Cost {
  usd: number;
  known: boolean;
}

/**
 * Returns the cost of one model call. An id with a date (`anthropic/claude-sonnet-4-5-20250929`)
 * costs the same as without; other variants (`openai/gpt-5-pro`) have their own price.
 *
 * @param overrides prices by model id, before the catalogue's
 */
export function costUsd(
  model_id: string,
  usage: Usage,
  catalogue: Catalogue,
  overrides: Readonly<Record<string, Price>> = {},
): Cost {
  const price = priceOf(model_id, catalogue, overrides);
  if (price === undefined) return { usd: 0, known: false };
  const rate = price.long !== undefined && usage.tokens_in > price.long.over ? price.long : price;
  const plain = Math.max(0, usage.tokens_in - usage.tokens_cached - usage.tokens_cache_write);
  const millionths = plain * rate.input +
    usage.tokens_cached * rate.cache_read +
    usage.tokens_cache_write * rate.cache_write +
    usage.tokens_out * rate.output;
  return { usd: millionths / 1e6, known: true };
}

/** Reports whether a model has a price or costs nothing. */
export function isPriced(
  model_id: string,
  catalogue: Catalogue,
  overrides: Readonly<Record<string, Price>> = {},
): boolean {
  return priceOf(model_id, catalogue, overrides) !== undefined;
}

/** They run on this machine. */
const FREE = /^(builtin|ollama)\//;
const NOTHING: Price = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

/** Returns the price of a model from the overrides or the catalogue, if known. */
export function priceOf(
  id: string,
  catalogue: Catalogue,
  overrides: Readonly<Record<string, Price>> = {},
): Price | undefined {
  const price = priceIn(id, overrides) ?? catalogue.facts(id)?.price;
  return price ?? (FREE.test(id) ? NOTHING : undefined);
}

/** Suffixes that do not make a different model. */
const SAME_MODEL = /^([-@](\d{8}|\d{4}-\d{2}-\d{2}|latest|00\d))?$/;

function priceIn(id: string, table: Readonly<Record<string, Price>>): Price | undefined {
  let longest = "";
  for (const name of Object.keys(table)) {
    const matches = id.startsWith(name) && SAME_MODEL.test(id.slice(name.length));
    if (matches && name.length > longest.length) longest = name;
  }
  return longest === "" ? undefined : table[longest];
}
