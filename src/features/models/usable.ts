import type { Config } from "../../config/config.ts";
import type { Catalogue } from "../../models/catalogue.ts";
import { knownLimits } from "../../models/limits.ts";
import { type Overview, overview, type OverviewOptions } from "../../models/overview.ts";
import { priceOf } from "../../models/prices.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import { seesByName } from "../../models/vision.ts";

/** Returns the models that can be used with a configuration. @throws as `overview` does */
export async function usableModels(
  registry: ModelRegistry,
  { prices }: Config,
  catalogue: Catalogue,
  options: OverviewOptions,
): Promise<Overview> {
  const { about, problem } = catalogue;
  return await overview({
    registry,
    catalogue: { ...about, ...(problem === undefined ? {} : { problem }) },
    known(id) {
      const { overrides, facts, images = seesByName(id.slice(id.indexOf("/") + 1)) } = registry
        .describe(id);
      const efforts = overrides.efforts ?? facts.efforts;
      const limits = knownLimits(id, overrides, facts);
      const { long: _, ...price } = priceOf(id, catalogue, prices) ?? {};
      return {
        ...(limits && {
          context_tokens: limits.context_tokens,
          output_tokens: limits.output_tokens,
        }),
        images,
        ...(efforts && { efforts: [...efforts] }),
        ...("input" in price ? { price } : {}),
      };
    },
  }, options);
}
