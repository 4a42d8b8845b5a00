/** The model catalogue: limits, prices, image support and levels of effort. */
import type * as z from "zod";
import type { catalogueSchema, modelFactsSchema } from "./catalogue_schema.ts";

/** A catalogue's facts about a model; an absent field is unknown. */
export type ModelFacts = z.output<ReturnType<typeof modelFactsSchema>>;

/** A catalogue as it is stored. */
export type CatalogueData = z.output<ReturnType<typeof catalogueSchema>>;

/** Suffixes that do not make a name another model's. */
const SAME_MODEL = /[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest|00\d)$/;

/** Those who make models; their names for them are also used by others that run them. */
const MAKERS = ["anthropic", "openai", "google", "mistral", "xai", "deepseek"];

/** The catalogue in the program, and a newer one that was downloaded. */
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

  /** What is known of a model by its id, `<provider>/<model>`. An id with a date is also found. */
  facts(id: string): ModelFacts | undefined {
    const slash = id.indexOf("/");
    return this.#find(id.slice(0, slash), id.slice(slash + 1));
  }

  /** What the maker of a model says of it, wherever it runs. Prices are those of the maker. */
  madeAs(id: string): ModelFacts | undefined {
    const model = id.split("/").at(-1)!;
    for (const maker of MAKERS) {
      const found = this.#find(maker, model) ?? this.#find(maker, model.replaceAll(".", "-"));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The ids that have a price. */
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

  /** What the newest catalogue does not say is taken from the others. */
  #exactly(provider: string, model: string): ModelFacts | undefined {
    let found: ModelFacts | undefined;
    for (const { providers } of this.#layers) {
      const models = Object.hasOwn(providers, provider) ? providers[provider] : {};
      if (Object.hasOwn(models, model)) found = { ...models[model], ...found };
    }
    return found;
  }
}
