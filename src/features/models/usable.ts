import type { Config } from "../../config/config.ts";
import { knownLimits } from "../../models/limits.ts";
import { type Overview, overview, type OverviewOptions } from "../../models/overview.ts";
import { priceOf } from "../../models/prices.ts";
import type { ModelRegistry } from "../../models/registry.ts";

/** Returns the models that can be used with a configuration. @throws as `overview` does */
export function usableModels(
  registry: ModelRegistry,
  { models, prices }: Config,
  options: OverviewOptions,
): Promise<Overview> {
  return overview({
    registry,
    limits(id) {
      const [provider] = id.split("/");
      return knownLimits(id, Object.hasOwn(models, provider) ? models[provider] : {});
    },
    price: (id) => priceOf(id, prices),
  }, options);
}
