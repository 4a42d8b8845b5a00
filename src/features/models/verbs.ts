import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { Catalogue } from "../../models/catalogue.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import { verbsOf } from "../../verbs/define.ts";
import { overviewSchema } from "../../protocol/schemas/models.ts";

/** The services of the verbs about models. */
export interface ModelServices {
  models(): ModelRegistry;
  config(): Config;
  /** What is known of models; begins a download where one is due. */
  catalogue(): Promise<Catalogue>;
}

const defineVerb = verbsOf<ModelServices>();

export const modelVerbs = [
  defineVerb({
    name: "models.list",
    summary: "Lists the models that can be used now; asks their providers.",
    access: "read",
    rest: { method: "GET", path: "/v1/models", status: 200 },
    input: () =>
      z.object({
        provider: z.string().min(1).optional().describe("Only the models of this provider"),
        ask: z.boolean().default(true).describe(
          "Whether to ask the providers; if false, only the default model is listed",
        ),
      }),
    output: overviewSchema,
    async handle({ services, signal }, { provider, ask }) {
      const { usableModels } = await import("./usable.ts");
      const catalogue = await services.catalogue();
      const { models, config } = services;
      return await usableModels(models(), config(), catalogue, { provider, ask, signal });
    },
  }),
];
