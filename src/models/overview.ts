/** The models that can be used now, and what the others lack. */

import type * as z from "zod";
import { messageOf } from "../protocol/errors.ts";
import { ModelError } from "./model.ts";
import { listModels } from "./model_lists.ts";
import { presetOf } from "./presets.ts";
import type { ModelRegistry, ProviderDetails } from "./registry.ts";
import type {
  catalogueOverviewSchema,
  overviewSchema,
  providerOverviewSchema,
  usableModelSchema,
} from "../protocol/schemas/models.ts";

export type UsableModel = z.output<ReturnType<typeof usableModelSchema>>;

export type KnownOfModel = Omit<UsableModel, "id" | "title" | "default">;

/** A provider, and whether its models can be used. */
export type ProviderOverview = z.output<ReturnType<typeof providerOverviewSchema>>;

export type Overview = z.output<ReturnType<typeof overviewSchema>>;

/** Where limits and prices come from. */
export type CatalogueOverview = z.output<ReturnType<typeof catalogueOverviewSchema>>;

export interface OverviewParts {
  registry: ModelRegistry;
  catalogue: CatalogueOverview;
  known(id: string): KnownOfModel;
}

export interface OverviewOptions {
  /** Whether to ask providers for their models; otherwise only the default model is listed. */
  ask: boolean;
  provider?: string;
  signal: AbortSignal;
}

/**
 * Returns the providers and the usable models. A provider that fails is listed with its problem.
 *
 * @throws {UnknownModel} for an unknown provider
 * @throws the signal's reason
 */
export async function overview(
  { registry, catalogue, known }: OverviewParts,
  { ask, provider, signal }: OverviewOptions,
): Promise<Overview> {
  const infos = registry.details().filter((it) =>
    provider === undefined || it.provider === provider
  );
  if (infos.length === 0) registry.target(provider!);
  const default_model = registry.defaultId();
  const listed = await Promise.all(infos.map((info) => listOf(registry, info, ask, signal)));
  const ids = new Map(listed.flatMap(({ models }) => models));
  const wanted = default_model.slice(0, default_model.indexOf("/"));
  if (infos.some((it) => it.provider === wanted) && !ids.has(default_model)) {
    ids.set(default_model, undefined);
  }
  const models = [...ids].map(([id, title]): UsableModel => ({
    id,
    ...(title === undefined ? {} : { title }),
    default: id === default_model,
    ...known(id),
  }));
  const providers = listed.map((it) => it.about);
  return { default_model, providers, models, catalogue };
}

/** Reports whether a provider is a local server that svc looks for itself. */
export function isLocal(
  registry: ModelRegistry,
  { provider, kind, key_env = [] }: ProviderDetails,
): boolean {
  return kind !== "builtin" && key_env.length === 0 &&
    presetOf(provider)?.key_env.length === 0 && registry.target(provider).known;
}

/** Reports whether a key can be saved for a provider. */
export function takesKey(registry: ModelRegistry, details: ProviderDetails): boolean {
  return details.kind !== "builtin" && !isLocal(registry, details);
}

interface Listed {
  about: ProviderOverview;
  models: [id: string, title: string | undefined][];
}

async function listOf(
  registry: ModelRegistry,
  info: ProviderDetails,
  ask: boolean,
  signal: AbortSignal,
): Promise<Listed> {
  const { provider, kind, configured, address, key_env = [], key_from, key_problem } = info;
  const about = { provider, kind, configured, address, key_from };
  if (kind === "builtin") return { about, models: [[registry.defaultIdOf(provider), undefined]] };
  if (!configured && address === undefined) {
    const variable = presetOf(provider)?.base_url_env;
    const hint = `set ${variable} for the daemon, or base_url in [models.${provider}]`;
    return { about: { ...about, problem: "has no address", hint }, models: [] };
  }
  if (!configured) {
    const problem = key_problem ?? "has no API key";
    const hint = `run \`svc login ${provider}\`, or set ${key_env.join(" or ")} for the daemon`;
    return { about: { ...about, problem, hint }, models: [] };
  }
  if (!ask) return { about: { ...about, problem: key_problem }, models: [] };
  try {
    const models = await listModels(registry.target(provider), signal);
    return { about, models: models.map(({ name, title }) => [`${provider}/${name}`, title]) };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    // A local server need not run.
    const absent = error.status === undefined && isLocal(registry, info);
    const problem = absent ? `nothing answers at ${address}` : messageOf(error);
    return { about: { ...about, problem }, models: [] };
  }
}
