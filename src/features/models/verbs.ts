import * as z from "zod";
import type { Config } from "../../config/config.ts";
import type { Catalogue } from "../../models/catalogue.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { AcpEntry } from "../../models/acp_entry.ts";
import type { Env, HomePaths } from "../../os/paths.ts";
import { SvcError } from "../../protocol/errors.ts";
import { type Caller, mayBeModel, verbsOf } from "../../verbs/define.ts";
import { overviewSchema } from "../../protocol/schemas/models.ts";
import type { ProviderLogins } from "./login.ts";
import { newKeySchema, savedKeySchema, waysSchema } from "./schemas.ts";

/** The services of the verbs about models. */
export interface ModelServices {
  models(): ModelRegistry;
  config(): Config;
  /** What is known of models; begins a download where one is due. */
  catalogue(): Promise<Catalogue>;
  readonly paths: HomePaths;
  readonly env: Env;
  /** `[acp]` of daemon.toml. */
  agents(): Readonly<Record<string, AcpEntry>>;
  /** Keeps a key out of the log. */
  mask(key: string): void;
  logins(): Promise<ProviderLogins>;
}

const defineVerb = verbsOf<ModelServices>();

/** No key is to pass through a model. @throws {SvcError} permission_denied */
function requirePerson(caller: Caller): void {
  if (!mayBeModel(caller)) return;
  throw new SvcError("permission_denied", "only a person saves a key", {
    hint: "the person can run `svc login`, or do it in the web app",
  });
}

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
  defineVerb({
    name: "models.providers",
    summary: "Lists the ways to get a model: keys, servers on this machine, agents over ACP.",
    access: "read",
    input: () =>
      z.object({
        look: z.boolean().default(true)
          .describe("Whether to look for servers of models on this machine, for up to a second"),
      }),
    output: waysSchema,
    async handle({ services, signal }, { look }) {
      const { waysToModels } = await import("./ways.ts");
      const { env, models, agents } = services;
      return await waysToModels({ registry: models(), agents: agents(), env, signal }, look);
    },
  }),
  defineVerb({
    name: "models.save_key",
    summary: "Tests a provider's API key at no cost and saves it, as `svc login` does.",
    access: "write",
    idempotent: true,
    input: newKeySchema,
    output: savedKeySchema,
    async handle({ services, caller, signal }, params) {
      requirePerson(caller);
      const { saveProviderKey } = await import("./save_key.ts");
      const { models, paths, mask } = services;
      return await saveProviderKey({ registry: models(), paths, mask, signal }, params);
    },
  }),
  defineVerb({
    name: "models.login",
    summary: "Starts a login at a provider that gives a key in the browser, as OpenRouter does.",
    access: "write",
    input: () =>
      z.object({ provider: z.string().min(1).describe("As `models.providers` names it") }),
    output: () => z.object({ url: z.string().describe("The page where the person agrees") }),
    async handle({ services, caller }, { provider }) {
      requirePerson(caller);
      const { models, paths, mask, logins } = services;
      return { url: await (await logins()).begin({ registry: models(), paths, mask }, provider) };
    },
  }),
  defineVerb({
    name: "models.login_result",
    summary: "Waits until a person agrees to a login that models.login started; saves the key.",
    access: "write",
    idempotent: true,
    input: () => z.object({ provider: z.string().min(1).describe("As in models.login") }),
    output: savedKeySchema,
    async handle({ services, caller, signal }, { provider }) {
      requirePerson(caller);
      return await (await services.logins()).end(provider, signal);
    },
  }),
];
