import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import { verbsOf } from "../../verbs/define.ts";

/** The services of the verbs about models. */
export interface ModelServices {
  models(): ModelRegistry;
  config(): Config;
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
    output: () =>
      z.object({
        default_model: z.string(),
        providers: z.array(z.object({
          provider: z.string(),
          kind: z.string(),
          configured: z.boolean(),
          address: z.string().optional().describe("Base URL"),
          key_from: z.enum(["environment", "login"]).optional()
            .describe("Whether its key comes from the daemon's environment or from `svc login`"),
          problem: z.string().optional().describe("Why its models are not listed"),
          hint: z.string().optional().describe("What to do about it"),
        })),
        models: z.array(z.object({
          id: z.string().describe("<provider>/<model>"),
          title: z.string().optional(),
          default: z.boolean(),
          context_tokens: z.int().optional().describe(
            "Maximum length of a conversation with its answer, if known",
          ),
          output_tokens: z.int().optional().describe("Maximum length of an answer, if known"),
          price: z.object({
            input: z.number(),
            output: z.number(),
            cache_read: z.number(),
            cache_write: z.number(),
          }).optional().describe("USD per million tokens, if known"),
        })),
      }),
    async handle({ services, signal }, { provider, ask }) {
      const { usableModels } = await import("./usable.ts");
      return await usableModels(services.models(), services.config(), { provider, ask, signal });
    },
  }),
];
