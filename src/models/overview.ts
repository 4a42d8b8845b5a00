/** The models that can be used now, and what the others lack. */

import { messageOf } from "../protocol/errors.ts";
import type { Limits } from "./limits.ts";
import { ModelError } from "./model.ts";
import { listModels } from "./model_lists.ts";
import type { Price } from "./prices.ts";
import type { KeySource, ModelRegistry, ProviderDetails } from "./registry.ts";

/** A model that can be used. */
export interface UsableModel {
  /** `<provider>/<model>`. */
  id: string;
  title?: string;
  default: boolean;
  /** The limits that svc works with, if the model's are known. */
  context_tokens?: number;
  output_tokens?: number;
  /** USD per million tokens, if known. */
  price?: Pick<Price, "input" | "output" | "cache_read" | "cache_write">;
}

/** A provider, and whether its models can be used. */
export interface ProviderOverview {
  provider: string;
  kind: string;
  configured: boolean;
  address?: string;
  key_from?: KeySource;
  /** Why its models are not listed. */
  problem?: string;
  /** What to do about it. */
  hint?: string;
}

export interface Overview {
  default_model: string;
  providers: ProviderOverview[];
  models: UsableModel[];
}

export interface OverviewParts {
  registry: ModelRegistry;
  /** Limits of a model; undefined when they are unknown. */
  limits(id: string): Limits | undefined;
  /** Price of a model; undefined when it is unknown. */
  price(id: string): Price | undefined;
}

/** Options of {@linkcode overview}. */
export interface OverviewOptions {
  /** Whether providers are asked for their models; if not, only the default model is listed. */
  ask: boolean;
  /** Only this provider. */
  provider?: string;
  signal: AbortSignal;
}

/**
 * Returns the providers and the models that can be used. A provider that fails is listed with its
 * problem.
 *
 * @throws {UnknownModel} when there is no such provider
 * @throws what the signal was aborted with
 */
export async function overview(
  { registry, limits, price }: OverviewParts,
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
  const models = [...ids].map(([id, title]): UsableModel => {
    const known = limits(id);
    const { long: _, ...base } = price(id) ?? {} as Price;
    return {
      id,
      ...(title === undefined ? {} : { title }),
      default: id === default_model,
      ...(known && { context_tokens: known.context_tokens, output_tokens: known.output_tokens }),
      ...(base.input === undefined ? {} : { price: base }),
    };
  });
  return { default_model, providers: listed.map((it) => it.about), models };
}

/** Reports whether a provider is a server of this machine that svc looks for by itself. */
export function isLocal(
  registry: ModelRegistry,
  { provider, kind, key_env = [] }: ProviderDetails,
): boolean {
  return kind !== "builtin" && key_env.length === 0 && registry.target(provider).known;
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
    // Such a server need not run.
    const absent = error.status === undefined && isLocal(registry, info);
    const problem = absent ? `nothing answers at ${address}` : messageOf(error);
    return { about: { ...about, problem }, models: [] };
  }
}
