/** The current configuration and what depends on it. */
import { Opener } from "../base/lazy.ts";
import type { Config } from "../config/config.ts";
import type { ConfigEditor } from "../config/config_editor.ts";
import type { Section } from "../config/section.ts";
import { readConfig } from "../config/read.ts";
import type { Catalogue } from "../models/catalogue.ts";
import type { CatalogueFile } from "../models/catalogue_file.ts";
import type { Usage } from "../models/model.ts";
import { KeyFile } from "../models/key_file.ts";
import { ModelRegistry } from "../models/registry.ts";
import type { Env, HomePaths } from "../os/paths.ts";
import type { Ids } from "../session/ids.ts";
import type { OpenFeatures } from "../verbs/feature.ts";

interface CurrentParts {
  paths: Pick<HomePaths, "config" | "keys" | "catalogue">;
  sections: readonly Section[];
  env: Env;
  ids: Ids;
  features(): OpenFeatures;
  /** Called after a change of configuration. */
  onChange(): void;
  /** Called with each provider's key. */
  onKey(api_key: string): void;
}

export class Current {
  readonly #parts: CurrentParts;
  #config: Config;
  #models: ModelRegistry;
  readonly #keys: KeyFile;
  /** Loaded before the first model is used. */
  #known: { prices: typeof import("../models/prices.ts"); catalogue: Catalogue } | undefined;
  readonly #catalogue_file: Opener<CatalogueFile>;
  readonly #toolbelt = new Opener(async () => (await import("../models/toolbelt.ts")).toolbelt);
  readonly #editor: Opener<ConfigEditor>;

  /** @throws {SvcError} validation for an invalid daemon.toml */
  static async read(parts: CurrentParts): Promise<Current> {
    return new Current(parts, await readConfig(parts.paths.config, parts.sections));
  }

  private constructor(parts: CurrentParts, started: Config) {
    this.#parts = parts;
    this.#config = started;
    this.#keys = new KeyFile(parts.paths.keys);
    this.#catalogue_file = new Opener(async () => {
      const { CatalogueFile } = await import("../models/catalogue_file.ts");
      return new CatalogueFile(parts.paths.catalogue);
    });
    this.#models = this.#newModels();
    this.#editor = new Opener(async () => {
      const { ConfigEditor } = await import("../config/config_editor.ts");
      const { sections, paths: { config: path } } = parts;
      const checkModel = (id: string) => this.#models.check(id);
      const { config, reload } = this;
      return new ConfigEditor({ path, sections, started, config, reload, checkModel });
    });
  }

  readonly config = (): Config => this.#config;
  readonly models = (): ModelRegistry => this.#models;
  readonly editor = (): Promise<ConfigEditor> => this.#editor.get();

  /** The model catalogue; may change after a download. */
  readonly catalogue = async (): Promise<Catalogue> => {
    const catalogue = await (await this.#catalogue_file.get()).get();
    const prices = this.#known?.prices ?? await import("../models/prices.ts");
    this.#known = { prices, catalogue };
    return catalogue;
  };

  /** Cost of a call to a resolved model, USD. */
  readonly cost = (model_id: string, usage: Usage): number => {
    if (this.#known === undefined) throw new Error(`${model_id} was not given out`);
    const { prices, catalogue } = this.#known;
    return prices.costUsd(model_id, usage, catalogue, this.#config.prices).usd;
  };

  /** Whether a model has a price; otherwise it costs 0 in sums. */
  readonly priced = (model_id: string): boolean => {
    if (this.#known === undefined) throw new Error(`${model_id} was not given out`);
    const { prices, catalogue } = this.#known;
    return prices.isPriced(model_id, catalogue, this.#config.prices);
  };

  /** Reads all files again. @throws {SvcError} when one has an error; then nothing changes */
  readonly reload = async (): Promise<void> => {
    const { paths, sections, features, onChange } = this.#parts;
    const changed = await readConfig(paths.config, sections);
    const read = await Promise.all(features().each("read"));
    this.#config = changed;
    for (const apply of read) await apply();
    this.#models = this.#newModels();
    onChange();
  };

  #newModels(): ModelRegistry {
    const { models, default_model, agent } = this.#config;
    const { env, ids, features, onKey } = this.#parts;
    return new ModelRegistry({
      models,
      env,
      keys: this.#keys,
      onKey,
      prepare: async () => void await this.catalogue(),
      catalogue: () => this.#known?.catalogue,
      default_model,
      limits: {
        first_byte_ms: agent.first_byte_timeout,
        idle_ms: agent.idle_timeout,
        answer_ms: agent.answer_timeout,
      },
      builtin: async () => (await this.#toolbelt.get())(() => ids.next("call")),
      agentProblem: (name) =>
        features().agents.map((it) => it.problem(name)).find((it) => it !== undefined),
    });
  }
}
