/** The format of models.dev's `api.json`. */
import * as z from "zod";
import "../../protocol/issue_text.ts";
import type { CatalogueData, ModelFacts } from "../../models/catalogue.ts";
import {
  catalogueSchema,
  MODELS_MAX,
  NAME_MAX,
  PRICE_MAX,
  TOKENS_MAX,
} from "../../models/catalogue_schema.ts";
import { PRESETS } from "../../models/presets.ts";

/** The names of providers there, where they differ from ours. */
const NAMES: Readonly<Record<string, string>> = {
  together: "togetherai",
  fireworks: "fireworks-ai",
};

const rates = z.object({
  input: z.number().min(0).max(PRICE_MAX),
  output: z.number().min(0).max(PRICE_MAX),
  cache_read: z.number().min(0).max(PRICE_MAX).optional(),
  cache_write: z.number().min(0).max(PRICE_MAX).optional(),
});

const model = z.object({
  reasoning: z.boolean().optional(),
  modalities: z.object({ input: z.array(z.string()), output: z.array(z.string()) }).optional(),
  cost: rates.extend({ context_over_200k: rates.optional() }).optional(),
  limit: z.object({
    context: z.int().min(0).max(TOKENS_MAX).optional(),
    output: z.int().min(0).max(TOKENS_MAX).optional(),
  }).optional(),
});

const provider = z.object({ models: z.record(z.string().max(NAME_MAX), z.unknown()) });

/**
 * Reads the providers that svc knows. A model that is not in the format is left out.
 *
 * @param source where it comes from
 * @param date the day of the download
 * @throws {Error} when it has no model
 */
export function fromModelsDev(json: unknown, source: string, date: string): CatalogueData {
  const all = z.record(z.string(), z.unknown()).parse(json);
  const providers: Record<string, Record<string, ModelFacts>> = {};
  for (const name of Object.keys(PRESETS)) {
    const read = provider.safeParse(all[NAMES[name] ?? name]);
    if (!read.success) continue;
    const models = Object.entries(read.data.models).slice(0, MODELS_MAX)
      .flatMap(([id, it]): [string, ModelFacts][] => {
        const { data } = model.safeParse(it);
        const writes = data?.modalities?.output.includes("text") ?? true;
        return data === undefined || !writes ? [] : [[id, factsOf(id, data)]];
      });
    if (models.length > 0) providers[name] = Object.fromEntries(models);
  }
  if (Object.keys(providers).length === 0) throw new Error("it has no model of a known provider");
  return catalogueSchema().parse({ source, license: "see the source", date, providers });
}

function factsOf(
  id: string,
  { reasoning, modalities, cost, limit }: z.output<typeof model>,
): ModelFacts {
  const long = cost?.context_over_200k;
  // Subscriptions are listed with a price of 0.
  const priced = cost !== undefined && cost.input + cost.output > 0 || id.endsWith(":free");
  return {
    ...(limit?.context ? { context_tokens: limit.context } : {}),
    ...(limit?.output ? { output_tokens: limit.output } : {}),
    ...(modalities === undefined ? {} : { images: modalities.input.includes("image") }),
    // The levels of a model that reasons are not there.
    ...(reasoning === false ? { efforts: [] } : {}),
    ...(priced && cost !== undefined
      ? { price: { ...full(cost), ...(long && { long: { over: 200_000, ...full(long) } }) } }
      : {}),
  };
}

function full({ input, output, cache_read = input, cache_write = input }: z.output<typeof rates>) {
  return { input, output, cache_read, cache_write };
}
