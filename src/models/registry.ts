/** Which models there are on this machine: the known providers and those of daemon.toml. */

import { closestString, levenshteinDistance } from "@std/text";
import { acpName } from "./acp_entry.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Model } from "./model.ts";
import { pricedModels } from "./prices.ts";
import type { AnswerLimits } from "./answer_limits.ts";
import type { ProviderConfig, ProviderKind } from "./providers.ts";

/** `[models.<name>]` of daemon.toml. */
export interface ModelEntry {
  kind: ProviderKind;
  base_url?: string;
  /** The environment variable that holds the key. */
  api_key_env?: string;
  /** Tokens of a conversation with its answer, and of an answer. */
  context_tokens?: number;
  output_tokens?: number;
}

/** What a {@linkcode ModelRegistry} is made of. */
export interface ModelRegistryOptions {
  /** By name; one that bears a known provider's name takes its place. */
  models: Readonly<Record<string, ModelEntry>>;
  env: (name: string) => string | undefined;
  /** `default_model` of daemon.toml. */
  default_model?: string;
  /** How long an answer may take. */
  limits?: AnswerLimits;
  /** What answers `builtin/toolbelt`. */
  builtin(): Model | Promise<Model>;
  /** Why an agent `acp/<name>` cannot be started; undefined when it can. */
  agentProblem(name: string): string | undefined;
}

/** One provider, as `list` shows it. */
export interface ProviderInfo {
  provider: string;
  kind: ProviderKind | "builtin";
  /** Whether nothing is missing to call it. That a local server runs is not checked. */
  configured: boolean;
}

/** An id that leads to no model; the message says which would and how to configure more. */
export class UnknownModel extends SvcError {
  constructor(message: string) {
    super("validation", message);
  }
}

interface KnownProvider {
  kind: ProviderKind;
  /** The first that is set counts; none: no key is needed. */
  key_env: readonly string[];
  base_url_env?: string;
  base_url?: string;
  /** What is taken when this provider is the default. */
  model?: string;
}

interface Resolved {
  kind: ProviderKind;
  base_url?: string;
  /** Variables of which one must be set. */
  key_env: readonly string[];
  api_key?: string;
  key_source?: string;
}

/** In the order in which a default is looked for. */
const KNOWN: Readonly<Record<string, KnownProvider>> = {
  anthropic: {
    kind: "anthropic",
    key_env: ["ANTHROPIC_API_KEY"],
    base_url_env: "ANTHROPIC_BASE_URL",
    model: "claude-sonnet-4-5",
  },
  openai: {
    kind: "openai",
    key_env: ["OPENAI_API_KEY"],
    base_url_env: "OPENAI_BASE_URL",
    model: "gpt-5.1",
  },
  google: {
    kind: "google",
    key_env: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    model: "gemini-2.5-pro",
  },
  openrouter: {
    kind: "openai-compatible",
    key_env: ["OPENROUTER_API_KEY"],
    base_url: "https://openrouter.ai/api/v1",
    model: "anthropic/claude-sonnet-4.5",
  },
  ollama: { kind: "openai-compatible", key_env: [] },
};

const BUILTIN = "builtin/toolbelt";
/** Models that are kept for the next turn. */
const MODELS_KEPT = 32;

/**
 * Finds models by their id, `<provider>/<model>`. Variables are read when they are needed, so a
 * key that appears in the environment counts from then on.
 */
export class ModelRegistry {
  readonly #options: ModelRegistryOptions;
  /** Models by what they are made from: the packages make all their schemas anew for each. */
  readonly #made = new Map<string, Promise<Model>>();

  constructor(options: ModelRegistryOptions) {
    this.#options = options;
  }

  /**
   * The model of an id.
   *
   * @throws {UnknownModel} when the id names no provider, or one that lacks its key.
   * @throws {ModelError} when the provider's configured address is unusable.
   */
  async resolve(id: string): Promise<Model> {
    if (id === BUILTIN) return await this.#options.builtin();
    requireNoAgent(id);
    const { config, model } = this.#locate(id);
    const key = JSON.stringify([config, model]);
    let made = this.#made.get(key);
    if (made === undefined) {
      const { providerModel } = await import("./providers.ts");
      made = providerModel(config, model);
      made.catch(() => this.#made.delete(key));
      if (this.#made.size >= MODELS_KEPT) this.#made.clear();
      this.#made.set(key, made);
    }
    return await made;
  }

  /** Whether an id is that of the embedded instruction language, which does not think. */
  isBuiltin(id: string): boolean {
    return id === BUILTIN;
  }

  /** Whether something can be asked of it beside a session: not of the two that are no models. */
  answersRequests(id: string): boolean {
    return !this.isBuiltin(id) && acpName(id) === undefined;
  }

  /** Says whether an id leads to a model, without loading anything. @throws {UnknownModel} */
  check(id: string): void {
    if (id === BUILTIN) return;
    const agent = acpName(id);
    const problem = agent === undefined ? undefined : this.#options.agentProblem(agent);
    if (problem !== undefined) throw new UnknownModel(problem);
    if (agent === undefined) this.#locate(id);
  }

  /** As {@linkcode check}, for what is asked without a session. @throws {UnknownModel} */
  checkForRequests(id: string): void {
    requireNoAgent(id);
    this.check(id);
  }

  #locate(id: string): { config: ProviderConfig; model: string } {
    const slash = id.indexOf("/");
    if (slash <= 0 || slash === id.length - 1) {
      throw new UnknownModel(
        `"${id}" is not a model id: expected <provider>/<model>` +
          `${didYouMean(id, this.#suggestions())}. ${this.#advice()}`,
      );
    }
    const name = id.slice(0, slash);
    const model = id.slice(slash + 1);
    const provider = this.#provider(name);
    const { models } = this.#options;
    if (provider === undefined) {
      const nearest = closestString(name, this.#names());
      const hint = isNear(name, nearest) ? ` (did you mean "${nearest}/${model}"?)` : "";
      throw new UnknownModel(`There is no model provider "${name}"${hint}. ${this.#advice()}`);
    }
    if (provider.key_env.length > 0 && provider.api_key === undefined) {
      throw new UnknownModel(
        `${name} has no API key: set ${provider.key_env.join(" or ")} in the environment of the ` +
          `daemon and restart it. ${this.#advice()}`,
      );
    }
    const config: ProviderConfig = {
      name,
      kind: provider.kind,
      base_url: provider.base_url,
      api_key: provider.api_key,
      key_source: provider.key_source,
      limits: this.#options.limits,
      tokens: Object.hasOwn(models, name) ? models[name] : undefined,
    };
    return { config, model };
  }

  /** `default_model`, else one of the first provider with a credential, else the embedded one. */
  defaultId(): string {
    if (this.#options.default_model !== undefined) return this.#options.default_model;
    for (const [name, known] of Object.entries(KNOWN)) {
      const provider = this.#provider(name);
      if (known.model === undefined || provider?.kind !== known.kind) continue;
      if (provider.api_key !== undefined) return `${name}/${known.model}`;
    }
    return BUILTIN;
  }

  /**
   * The model that stands for a provider: its own of the default ones, else `default_model` where
   * that is one of it.
   *
   * @throws {UnknownModel} when there is no such provider, or none of its models is the default one.
   */
  defaultIdOf(provider: string): string {
    const { default_model } = this.#options;
    if (default_model?.startsWith(`${provider}/`)) return default_model;
    if (provider === BUILTIN.split("/")[0]) return BUILTIN;
    const replaced = Object.hasOwn(this.#options.models, provider);
    const known = !replaced && Object.hasOwn(KNOWN, provider) ? KNOWN[provider].model : undefined;
    if (known !== undefined) return `${provider}/${known}`;
    if (!this.#names().includes(provider)) this.check(`${provider}/?`);
    throw new UnknownModel(
      `${provider} has no default model: give model too, or set default_model = "${provider}/…" ` +
        "in daemon.toml",
    );
  }

  /** Every provider that an id can name. */
  list(): ProviderInfo[] {
    return this.#names().map((name) => {
      const provider = this.#provider(name);
      if (provider === undefined) return { provider: name, kind: "builtin", configured: true };
      const configured = provider.key_env.length === 0 || provider.api_key !== undefined;
      return { provider: name, kind: provider.kind, configured };
    });
  }

  #names(): string[] {
    return [...new Set([...Object.keys(KNOWN), ...Object.keys(this.#options.models), "builtin"])];
  }

  #provider(name: string): Resolved | undefined {
    if (Object.hasOwn(this.#options.models, name)) return this.#fromEntry(name);
    if (!Object.hasOwn(KNOWN, name)) return undefined;
    const { kind, key_env, base_url_env, base_url } = KNOWN[name];
    return {
      kind,
      key_env,
      ...this.#key(key_env),
      base_url: name === "ollama"
        ? ollamaUrl(this.#env("OLLAMA_HOST"))
        : (base_url_env && this.#env(base_url_env)) || base_url,
    };
  }

  #fromEntry(name: string): Resolved {
    const { kind, base_url, api_key_env } = this.#options.models[name];
    const key_env = api_key_env !== undefined
      ? [api_key_env]
      // Only the provider's own address gets the provider's own key unasked.
      : base_url === undefined && kind !== "openai-compatible"
      ? KNOWN[kind].key_env
      : [];
    return { kind, base_url, key_env, ...this.#key(key_env) };
  }

  #key(names: readonly string[]): { api_key?: string; key_source?: string } {
    for (const name of names) {
      const value = this.#env(name);
      if (value !== undefined) return { api_key: value, key_source: name };
    }
    return names.length > 0 ? { key_source: names.join(" or ") } : {};
  }

  /** An empty variable counts as unset; a key that ends in a newline is no header's value. */
  #env(name: string): string | undefined {
    return this.#options.env(name)?.trim() || undefined;
  }

  #suggestions(): string[] {
    const configured = new Set(
      this.list().filter((info) => info.configured).map((info) => info.provider),
    );
    const ids = [BUILTIN, ...pricedModels()];
    const usable = ids.filter((id) => configured.has(id.slice(0, id.indexOf("/"))));
    // A model's name alone is worth an answer also when its provider lacks a key.
    return [...usable, ...ids.filter((id) => !usable.includes(id))];
  }

  #advice(): string {
    const usable = this.list().filter((info) => info.configured).map((info) => info.provider);
    const keys = Object.values(KNOWN).flatMap((known) => known.key_env.slice(0, 1));
    return `Configured: ${usable.join(", ")}. For more, set one of ${keys.join(", ")} in the ` +
      `daemon's environment, or add a [models.<name>] section to ~/.svc/daemon.toml.`;
  }
}

/** @throws {UnknownModel} */
function requireNoAgent(id: string): void {
  if (acpName(id) === undefined) return;
  throw new UnknownModel(`${id} is an agent: it has sessions, and answers no single requests`);
}

/** The address that Ollama's own client would use for a value of OLLAMA_HOST. */
function ollamaUrl(host: string | undefined): string {
  const [, scheme = "http", rest = ""] = /^(?:(\w+):\/\/)?(.*)$/s.exec(host ?? "") ?? [];
  const [authority] = rest.split("/", 1);
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(authority);
  const name = match?.[1] || "127.0.0.1";
  const default_port = host?.includes("://") ? (scheme === "https" ? "443" : "80") : "11434";
  // What a server listens on everywhere is no address to call.
  const callable = name === "0.0.0.0" ? "127.0.0.1" : name === "[::]" ? "[::1]" : name;
  return `${scheme}://${callable}:${match?.[2] ?? default_port}/v1`;
}

/** The nearest of the ids, by the whole of it or by the model's name alone. */
function didYouMean(given: string, ids: readonly string[]): string {
  const word = given.replaceAll("/", "");
  const near = ids
    .map((id) => {
      const [provider, model] = id.split("/");
      const distance = Math.min(
        ...[provider, model, id].map((text) => levenshteinDistance(word, text)),
      );
      return { id, distance };
    })
    .reduce((best, next) => next.distance < best.distance ? next : best);
  return near.distance <= Math.max(2, word.length / 3) ? ` (did you mean "${near.id}"?)` : "";
}

function isNear(word: string, other: string): boolean {
  return levenshteinDistance(word, other) <= 2;
}
