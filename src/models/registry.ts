/** The models available on this machine: the known providers and those in daemon.toml. */

import type * as z from "zod";
import { closestString, levenshteinDistance } from "@std/text";
import { acpName } from "./acp_entry.ts";
import { messageOf, SvcError } from "../protocol/errors.ts";
import type { SavedKey } from "./key_file.ts";
import type { Model } from "./model.ts";
import type { AnswerLimits } from "./answer_limits.ts";
import type { Catalogue, ModelFacts } from "./catalogue.ts";
import { type Preset, presetOf, PRESETS } from "./presets.ts";
import { addressOf, type ProviderKind } from "./provider_address.ts";
import type { ProviderConfig } from "./providers.ts";
import type { modelEntrySchema, modelOverridesSchema } from "../protocol/schemas/model_entry.ts";
import type { providerInfoSchema } from "../protocol/schemas/models.ts";

/** Model settings of daemon.toml. */
export type ModelOverrides = z.output<ReturnType<typeof modelOverridesSchema>>;

/** `[models.<name>]` in daemon.toml. */
export type ModelEntry = z.output<ReturnType<typeof modelEntrySchema>>;

export interface ModelRegistryOptions {
  /** By name; an entry with the name of a known provider replaces it. */
  models: Readonly<Record<string, ModelEntry>>;
  env: (name: string) => string | undefined;
  /** The keys of `svc login`; a key in the environment comes first. Default: none. */
  keys?: { get(provider: string): SavedKey | undefined };
  /** Called with each key that is found, to mask it. */
  onKey?(api_key: string): void;
  /** Awaited before a model is returned. */
  prepare?(): Promise<void>;
  /** Undefined until the first model was prepared. */
  catalogue?(): Catalogue | undefined;
  /** `default_model` in daemon.toml. */
  default_model?: string;
  /** Time limits of an answer. */
  limits?: AnswerLimits;
  /** Creates the model for `builtin/toolbelt`. */
  builtin(): Model | Promise<Model>;
  /** Returns why the agent `acp/<name>` cannot be started, if so. */
  agentProblem(name: string): string | undefined;
}

export type ProviderInfo = z.output<ReturnType<typeof providerInfoSchema>>;

/** A provider with its address and its key's origin. */
export interface ProviderDetails extends ProviderInfo {
  /** Its base URL; the embedded model has none. */
  address?: string;
  /** The variables that can hold its key. */
  key_env?: readonly string[];
  key_from?: KeySource;
  /** Why its saved key is not used. */
  key_problem?: string;
}

export type KeySource = "environment" | "login";

/** How to reach a provider. */
export interface ProviderTarget extends ProviderConfig {
  /** Whether it is a preset that daemon.toml does not replace. */
  known: boolean;
}

/** The most tools in a request, as the providers state it; Anthropic states none. */
const TOOLS_MAX: Record<ProviderKind, number> = {
  openai: 128,
  "openai-compatible": 128,
  google: 512,
  anthropic: Infinity,
};

export interface ModelDescription {
  /** From daemon.toml. */
  overrides: ModelOverrides;
  /** From the catalogue. */
  facts: ModelFacts;
  /** Whether it accepts images; undefined: judge by its name. */
  images?: boolean;
}

/** A model id that cannot be used; the message says which can and how to configure more. */
export class UnknownModel extends SvcError {
  /** The message without the advice. */
  readonly problem: string;

  constructor(problem: string, advice?: string) {
    super("validation", advice === undefined ? problem : `${problem}. ${advice}`);
    this.problem = problem;
  }
}

/** A configured provider without its key. */
interface Stated {
  kind: ProviderKind;
  base_url?: string;
  /** One of these variables, or a saved key, is required; empty: no key is needed. */
  key_env: readonly string[];
}

interface Key {
  api_key?: string;
  /** For messages: where the key comes from, or would come from. */
  key_source?: string;
  key_from?: KeySource;
  key_problem?: string;
}

type Resolved = Stated & Key;

const BUILTIN = "builtin/toolbelt";
/** The most models kept for later turns. */
const MODELS_KEPT = 32;

/**
 * Finds models by their id, `<provider>/<model>`. Reads environment variables only when needed, so
 * that a key that is set later takes effect.
 */
export class ModelRegistry {
  readonly #options: ModelRegistryOptions;
  /** By settings; kept because the packages build all their schemas for each model. */
  readonly #made = new Map<string, Promise<Model>>();

  constructor(options: ModelRegistryOptions) {
    this.#options = options;
  }

  /**
   * Returns the model with that id.
   *
   * @throws {UnknownModel} if the provider is unknown or lacks its key
   * @throws {ModelError} if the provider's configured address is invalid
   */
  async resolve(id: string): Promise<Model> {
    // A newer catalogue does not change the built-in model.
    const { prepare, catalogue, builtin } = this.#options;
    if (id !== BUILTIN || catalogue?.() === undefined) await prepare?.();
    if (id === BUILTIN) return await builtin();
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

  /** Reports whether an id is the embedded instruction language, which cannot reason. */
  isBuiltin(id: string): boolean {
    return id === BUILTIN;
  }

  /**
   * Reports whether the model answers single requests outside of a session; the embedded language
   * and agents over ACP do not.
   */
  answersRequests(id: string): boolean {
    return !this.isBuiltin(id) && acpName(id) === undefined;
  }

  /** Returns the small model of a model's provider, if known or configured. */
  smallId(id: string): string | undefined {
    const provider = id.slice(0, id.indexOf("/"));
    const known = this.#isPreset(provider) ? presetOf(provider)?.small : undefined;
    const small = this.#entry(provider)?.small ?? known;
    return small === undefined ? undefined : `${provider}/${small}`;
  }

  /** Checks that an id leads to a model, without loading anything. @throws {UnknownModel} */
  check(id: string): void {
    if (id === BUILTIN) return;
    const agent = acpName(id);
    const problem = agent === undefined ? undefined : this.#options.agentProblem(agent);
    if (problem !== undefined) throw new UnknownModel(problem);
    if (agent === undefined) this.#locate(id);
  }

  /** Like {@linkcode check}, for single requests outside of a session. @throws {UnknownModel} */
  checkForRequests(id: string): void {
    requireNoAgent(id);
    this.check(id);
  }

  #locate(id: string): { config: ProviderConfig; model: string } {
    const slash = id.indexOf("/");
    if (slash <= 0 || slash === id.length - 1) {
      throw new UnknownModel(
        `"${id}" is not a model id: expected <provider>/<model>` +
          didYouMean(id, this.#suggestions()),
        this.#advice(),
      );
    }
    const name = id.slice(0, slash);
    const model = id.slice(slash + 1);
    const { known: _, ...config } = this.target(name, undefined, model);
    return { config, model };
  }

  /** Returns what daemon.toml and the catalogue say about a model. */
  describe(id: string): ModelDescription {
    const slash = id.indexOf("/");
    const name = id.slice(0, slash);
    const entry = this.#entry(name);
    const { models: by_name = {}, ...all } = entry ?? {};
    const model = id.slice(slash + 1);
    const own = Object.hasOwn(by_name, model) ? by_name[model] : {};
    const { context_tokens, output_tokens, images, efforts } = { ...all, ...own };
    const catalogue = this.#options.catalogue?.();
    // A model that runs elsewhere has only the same limits.
    const { context_tokens: made_context, output_tokens: made_output } = catalogue?.madeAs(id) ??
      {};
    const facts = catalogue?.facts(id) ?? {
      ...(made_context === undefined ? {} : { context_tokens: made_context }),
      ...(made_output === undefined ? {} : { output_tokens: made_output }),
    };
    // A compatible server may run any model without its vision part.
    const other = !this.#isPreset(name) && this.#stated(name)?.kind === "openai-compatible";
    return {
      overrides: { context_tokens, output_tokens, images, efforts },
      facts,
      images: images ?? (other ? false : facts.images),
    };
  }

  /** Returns the most tools that a request to a model's provider may have. */
  toolsMax(id: string): number {
    return TOOLS_MAX[this.#stated(id.slice(0, id.indexOf("/")))?.kind ?? "openai-compatible"];
  }

  /**
   * Returns how to reach a provider.
   *
   * @param api_key replaces the configured key
   * @throws {UnknownModel} if the provider is unknown or lacks its key
   */
  target(name: string, api_key?: string, model = ""): ProviderTarget {
    const stated = this.#stated(name);
    if (stated === undefined) {
      const nearest = closestString(name, this.#names());
      const near = levenshteinDistance(name, nearest) <= 2;
      const hint = near ? ` (did you mean "${nearest}${model && `/${model}`}"?)` : "";
      throw new UnknownModel(`unknown model provider "${name}"${hint}`, this.#advice());
    }
    const key: Key = api_key === undefined
      ? this.#key(name, stated)
      : { api_key, key_source: "the key" };
    const { kind, base_url, key_env } = stated;
    if (key_env.length > 0 && key.api_key === undefined) {
      const reason = key.key_problem ??
        `${name} has no API key: run \`svc login ${name}\`, or set ${key_env.join(" or ")} in ` +
          "the environment of the daemon and restart it";
      throw new UnknownModel(reason, this.#advice());
    }
    const preset = this.#isPreset(name) ? presetOf(name) : undefined;
    const { overrides, facts, images } = this.describe(`${name}/${model}`);
    return {
      name,
      kind,
      base_url,
      api: this.#entry(name)?.api ?? preset?.api,
      images,
      efforts: overrides.efforts ?? facts.efforts,
      longest_answer: facts.output_tokens,
      api_key: key.api_key,
      key_source: key.key_source,
      limits: this.#options.limits,
      tokens: overrides,
      known: preset !== undefined,
      ...(preset?.quirks && { quirks: preset.quirks }),
    };
  }

  /**
   * Returns `default_model`, else a model of the first provider with a credential, else the
   * embedded one.
   */
  defaultId(): string {
    if (this.#options.default_model !== undefined) return this.#options.default_model;
    for (const [name, known] of Object.entries(PRESETS)) {
      const provider = this.#provider(name);
      if (known.model === undefined || provider?.kind !== known.kind) continue;
      if (provider.api_key !== undefined) return `${name}/${known.model}`;
    }
    return BUILTIN;
  }

  /**
   * Returns `default_model` if it is this provider's, else the provider's own default.
   *
   * @throws {UnknownModel} if there is no such provider, or it has no default model
   */
  defaultIdOf(provider: string): string {
    const { default_model } = this.#options;
    if (default_model?.startsWith(`${provider}/`)) return default_model;
    if (provider === BUILTIN.split("/")[0]) return BUILTIN;
    const replaced = this.#entry(provider)?.kind !== undefined;
    const known = replaced ? undefined : presetOf(provider)?.model;
    if (known !== undefined) return `${provider}/${known}`;
    if (!this.#names().includes(provider)) this.check(`${provider}/?`);
    throw new UnknownModel(
      `${provider} has no default model; name a model, or set default_model = "${provider}/…" ` +
        "in daemon.toml",
    );
  }

  /** Lists every provider that an id can name. */
  list(): ProviderInfo[] {
    return this.details().map(({ provider, kind, configured }) => ({ provider, kind, configured }));
  }

  /** As {@linkcode list}, with addresses and key origins. */
  details(): ProviderDetails[] {
    return this.#names().map((name) => {
      const provider = this.#provider(name);
      if (provider === undefined) return { provider: name, kind: "builtin", configured: true };
      const { kind, key_env, api_key, key_from, key_problem } = provider;
      const address = addressOf(provider);
      const placed = address !== undefined || Boolean(provider.base_url);
      const configured = placed && (key_env.length === 0 || api_key !== undefined);
      return { provider: name, kind, configured, address, key_env, key_from, key_problem };
    });
  }

  #names(): string[] {
    return [...new Set([...Object.keys(PRESETS), ...Object.keys(this.#options.models), "builtin"])];
  }

  #provider(name: string): Resolved | undefined {
    const stated = this.#stated(name);
    return stated && { ...stated, ...this.#key(name, stated) };
  }

  #entry(name: string): ModelEntry | undefined {
    const { models } = this.#options;
    return Object.hasOwn(models, name) ? models[name] : undefined;
  }

  /** Whether a provider is the preset of its name, possibly changed by daemon.toml. */
  #isPreset(name: string): boolean {
    return this.#entry(name)?.kind === undefined && presetOf(name) !== undefined;
  }

  #stated(name: string): Stated | undefined {
    const { kind, base_url, api_key_env } = this.#entry(name) ?? {};
    const preset = kind === undefined ? presetOf(name) : undefined;
    const used = kind ?? preset?.kind;
    if (used === undefined) return undefined;
    const own = preset ?? (kind === "openai-compatible" ? undefined : PRESETS[kind!]);
    const key_env = api_key_env !== undefined
      ? [api_key_env]
      // A provider's key goes to another address only if daemon.toml says so.
      : base_url === undefined || preset?.path !== undefined
      ? own?.key_env ?? []
      : [];
    const address = base_url ?? (preset && this.#presetUrl(name, preset));
    // Without its own address, the key would go to the wire format's default address.
    const placed = preset?.path === undefined ? address : withPath(address ?? "", preset.path);
    return { kind: used, base_url: placed, key_env };
  }

  #presetUrl(name: string, { base_url_env, base_url }: Preset): string | undefined {
    if (name === "ollama") return ollamaUrl(this.#env("OLLAMA_HOST"));
    return (base_url_env && this.#env(base_url_env)) || base_url;
  }

  #key(name: string, stated: Stated): Key {
    for (const variable of stated.key_env) {
      const value = this.#env(variable);
      if (value === undefined) continue;
      this.#options.onKey?.(value);
      return { api_key: value, key_source: variable, key_from: "environment" };
    }
    const key_source = stated.key_env.join(" or ") || undefined;
    return { key_source, ...this.#savedKey(name, stated) };
  }

  #savedKey(name: string, stated: Stated): Key {
    let saved: SavedKey | undefined;
    try {
      saved = this.#options.keys?.get(name);
    } catch (error) {
      const hint = error instanceof SvcError && error.hint ? `; ${error.hint}` : "";
      return { key_problem: `${messageOf(error)}${hint}` };
    }
    if (saved === undefined) return {};
    this.#options.onKey?.(saved.api_key);
    const address = addressOf(stated);
    const login = `\`svc login ${name}\``;
    if (saved.base_url !== address) {
      const key_problem =
        `the saved key of ${name} is for ${saved.base_url}, not for ${address}; ` +
        `run ${login}`;
      return { key_problem };
    }
    return {
      api_key: saved.api_key,
      key_source: `the key; ${login} replaces it`,
      key_from: "login",
    };
  }

  /** Reads a variable. An empty one counts as unset; a header cannot contain a trailing newline. */
  #env(name: string): string | undefined {
    return this.#options.env(name)?.trim() || undefined;
  }

  #suggestions(): string[] {
    const configured = new Set(
      this.list().filter((info) => info.configured).map((info) => info.provider),
    );
    const defaults = Object.entries(PRESETS)
      .flatMap(([name, { model }]) => model === undefined ? [] : [`${name}/${model}`]);
    const ids = [BUILTIN, ...defaults, ...this.#options.catalogue?.()?.priced() ?? []];
    const usable = ids.filter((id) => configured.has(id.slice(0, id.indexOf("/"))));
    // A matching model name is worth suggesting even if its provider lacks a key.
    return [...usable, ...ids.filter((id) => !usable.includes(id))];
  }

  #advice(): string {
    const usable = this.list().filter((info) => info.configured).map((info) => info.provider);
    const keys = Object.values(PRESETS).flatMap((known) => known.key_env.slice(0, 1)).slice(0, 4);
    return `Configured: ${usable.join(", ")}. For more, run \`svc login\`, set one of ` +
      `${keys.join(", ")} in the daemon's environment, or add a [models.<name>] section to ` +
      "~/.svc/daemon.toml.";
  }
}

/** @throws {UnknownModel} */
function requireNoAgent(id: string): void {
  if (acpName(id) === undefined) return;
  throw new UnknownModel(
    `${id} is an agent over ACP, which answers only in sessions; choose another model`,
  );
}

function withPath(address: string, path: string): string {
  const url = URL.parse(address);
  return url?.pathname === "/" ? url.origin + path : address;
}

/** The address that Ollama's own client would use for this value of OLLAMA_HOST. */
function ollamaUrl(host: string | undefined): string {
  const [, scheme = "http", rest = ""] = /^(?:(\w+):\/\/)?(.*)$/s.exec(host ?? "") ?? [];
  const [authority] = rest.split("/", 1);
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(authority);
  const name = match?.[1] || "127.0.0.1";
  const default_port = host?.includes("://") ? (scheme === "https" ? "443" : "80") : "11434";
  // A server's wildcard address cannot be called.
  const callable = name === "0.0.0.0" ? "127.0.0.1" : name === "[::]" ? "[::1]" : name;
  return `${scheme}://${callable}:${match?.[2] ?? default_port}/v1`;
}

/** Suggests the nearest id, compared as a whole or by the model's name alone. */
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
