/** The models that providers list, each in the format of its own endpoint. */

import { ModelError } from "./model.ts";
import { toModelError } from "./provider_errors.ts";
import { contextOf, fetchFor, headersOf } from "./provider_http.ts";
import type { ProviderTarget } from "./registry.ts";

export interface ListedModel {
  /** Without the provider. */
  name: string;
  title?: string;
}

/** Endpoints relative to the base URL. */
interface Paths {
  models: string;
  /** Answers only for a valid key. */
  key: string;
}

const USUAL: Paths = { models: "models", key: "models" };
const UNUSUAL: Readonly<Record<string, Paths>> = {
  ollama: { models: "../api/tags", key: "../api/tags" },
  // Its list of models is open to everyone.
  openrouter: { models: "models", key: "key" },
  "github-models": { models: "../catalog/models", key: "../catalog/models" },
};

/** Time limits of a list, in milliseconds. */
const LIMITS = { first_byte_ms: 10_000, idle_ms: 10_000, answer_ms: 20_000 };
/** The longest list that is read; OpenRouter's has about 1 MB. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Maximum number of listed models of a provider. */
const MODELS_MAX = 2_000;
const NAME_MAX = 200;

/** Models that write no text, by their names at OpenAI and at local servers. */
const OTHER = new RegExp(
  "embed|whisper|tts|dall-e|image|audio|realtime|transcribe|moderation|sora|rerank|" +
    "^(?:babbage|davinci)-",
  "i",
);

/**
 * Asks a provider for its models.
 *
 * @throws {ModelError} if it does not answer, refuses the key, or answers something else
 * @throws the signal's reason
 */
export async function listModels(
  target: ProviderTarget,
  signal: AbortSignal,
): Promise<ListedModel[]> {
  const { kind, name } = target;
  const page = kind === "anthropic" ? "?limit=1000" : kind === "google" ? "?pageSize=1000" : "";
  const listed = modelsIn(await ask(target, pathsOf(target).models + page, signal));
  if (listed === undefined) {
    throw new ModelError(`${name} did not answer with a list of models`, { retryable: false });
  }
  return listed.slice(0, MODELS_MAX).sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Has the provider check the key, at no cost. @throws as {@linkcode listModels} */
export async function checkKey(target: ProviderTarget, signal: AbortSignal): Promise<void> {
  await ask(target, pathsOf(target).key, signal);
}

function pathsOf({ name, known }: ProviderTarget): Paths {
  return known && Object.hasOwn(UNUSUAL, name) ? UNUSUAL[name] : USUAL;
}

async function ask(target: ProviderTarget, path: string, signal: AbortSignal): Promise<unknown> {
  const context = contextOf(target);
  const { name, base_url } = context;
  const fetch = fetchFor(context, LIMITS);
  const response = await fetch(new URL(path, `${base_url}/`), {
    headers: { accept: "application/json", ...headersOf(target) },
    signal,
  });
  const text = await textOf(response, name);
  if (!response.ok) {
    const { status, headers } = response;
    throw toModelError({
      name: "AI_APICallError",
      statusCode: status,
      responseBody: text,
      responseHeaders: Object.fromEntries(headers),
    }, context);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ModelError(`${name} did not answer with JSON`, { retryable: false });
  }
}

async function textOf({ body }: Response, name: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  // Leaving the loop also ends the connection.
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > BYTES_MAX) {
      throw new ModelError(`${name} answered with more than ${BYTES_MAX} bytes`, {
        retryable: false,
      });
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * OpenAI, Anthropic and compatible servers send `data`; Google and Ollama `models`; Together and
 * GitHub the bare list.
 */
function modelsIn(answer: unknown): ListedModel[] | undefined {
  const { data, models } = (answer ?? {}) as { data?: unknown; models?: unknown };
  const entries = [answer, data, models].find((it) => Array.isArray(it)) as unknown[] | undefined;
  return entries?.flatMap((entry) => modelIn(entry) ?? []);
}

function modelIn(entry: unknown): ListedModel | undefined {
  const { id, name, display_name, displayName, supportedGenerationMethods: methods } =
    (entry ?? {}) as Record<string, unknown>;
  if (Array.isArray(methods) && !methods.includes("generateContent")) return undefined;
  if (writesNoText(entry)) return undefined;
  const own = typeof id === "string" ? id : name;
  if (typeof own !== "string" || own.length > NAME_MAX || OTHER.test(own)) return undefined;
  const called = own.replace(/^models\//, "");
  if (called === "") return undefined;
  const title = [display_name, displayName, name].find((it) =>
    typeof it === "string" && it !== own
  );
  return { name: called, title: (title as string | undefined)?.slice(0, NAME_MAX) };
}

/** Whether the provider (Together, Mistral, Azure) marks a model as not for conversations. */
function writesNoText(entry: unknown): boolean {
  const { type, capabilities } = (entry ?? {}) as {
    type?: unknown;
    capabilities?: { completion_chat?: unknown; chat_completion?: unknown };
  };
  return typeof type === "string" && OTHER.test(type) ||
    capabilities?.completion_chat === false || capabilities?.chat_completion === false;
}
