/** The model catalogue: limits, prices, image support and levels of effort. */
import type * as z from "zod";
import type { catalogueSchema, modelFactsSchema } from "./catalogue_schema.ts";

/** A catalogue's facts about a model; an absent field is unknown. */
export type ModelFacts = z.output<ReturnType<typeof modelFactsSchema>>;

export type CatalogueData = z.output<ReturnType<typeof catalogueSchema>>;

/** Suffixes that do not make a different model. */
const SAME_MODEL = /[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest|00\d)$/;

/** The makers of models; others that run these models use the same names. */
const MAKERS = ["anthropic", "openai", "google", "mistral", "xai", "deepseek"];

/** The built-in catalogue, and a newer one that was downloaded. */
export class Catalogue {
  readonly #layers: readonly CatalogueData[];
  /** Why a downloaded catalogue is not used. */
  readonly problem?: string;

  /** @param layers at least one */
  constructor(layers: readonly CatalogueData[], problem?: string) {
    this.#layers = layers.toSorted((a, b) => a.date < b.date ? 1 : a.date > b.date ? -1 : 0);
    this.problem = problem;
  }

  /** Where the newest data comes from. */
  get about(): Pick<CatalogueData, "source" | "license" | "date"> {
    const [{ source, license, date }] = this.#layers;
    return { source, license, date };
  }

  /** Returns the facts about `<provider>/<model>`, also if the id ends with a date. */
  facts(id: string): ModelFacts | undefined {
    const slash = id.indexOf("/");
    return this.#find(id.slice(0, slash), id.slice(slash + 1));
  }

  /** Returns the maker's facts about a model, wherever it runs. Prices are the maker's. */
  madeAs(id: string): ModelFacts | undefined {
    const model = id.split("/").at(-1)!;
    for (const maker of MAKERS) {
      const found = this.#find(maker, model) ?? this.#find(maker, model.replaceAll(".", "-"));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns the ids with a price. */
  priced(): string[] {
    const ids = this.#layers.flatMap(({ providers }) =>
      Object.entries(providers).flatMap(([provider, models]) =>
        Object.keys(models).filter((model) => models[model].price !== undefined)
          .map((model) => `${provider}/${model}`)
      )
    );
    return [...new Set(ids)];
  }

  #find(provider: string, model: string): ModelFacts | undefined {
    const exact = this.#exactly(provider, model);
    return exact ?? this.#exactly(provider, model.replace(SAME_MODEL, ""));
  }

  /** An older catalogue fills in what the newest one omits. */
  #exactly(provider: string, model: string): ModelFacts | undefined {
    let found: ModelFacts | undefined;
    for (const { providers } of this.#layers) {
      const models = Object.hasOwn(providers, provider) ? providers[provider] : {};
      if (Object.hasOwn(models, model)) found = { ...models[model], ...found };
    }
    return found;
  }
}
