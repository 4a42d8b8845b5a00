/** Saves the key of a provider that a person typed into a face. */
import type * as z from "zod";
import { requireKey, saveKey } from "../../models/key_change.ts";
import { ModelError } from "../../models/model.ts";
import { checkKey, listModels } from "../../models/model_lists.ts";
import { takesKey } from "../../models/overview.ts";
import { baseUrl } from "../../models/provider_http.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { HomePaths } from "../../os/paths.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { newKeySchema, savedKeySchema } from "./schemas.ts";

export interface SaveKeyParts {
  registry: ModelRegistry;
  paths: HomePaths;
  /** Keeps the key out of the log. */
  mask(key: string): void;
  signal: AbortSignal;
}

type NewKey = z.output<ReturnType<typeof newKeySchema>>;

/** How long the provider may take. */
const TEST_MS = 20_000;
const NAMED_MAX = 20;
/** What providers answer to a key that may not be used. */
const REFUSED = [400, 403];

/**
 * Tests a key with a request that costs nothing, and saves it as `svc login` does.
 *
 * @throws {SvcError} validation for a key that the provider refuses; unavailable if it cannot be
 * asked. Then nothing is saved.
 */
export async function saveProviderKey(
  { registry, paths, mask, signal }: SaveKeyParts,
  { provider, key, test }: NewKey,
): Promise<z.output<ReturnType<typeof savedKeySchema>>> {
  const api_key = requireKey(key);
  mask(api_key);
  const target = registry.target(provider, api_key);
  const known = registry.details().find((it) => it.provider === provider);
  if (known === undefined || !takesKey(registry, known)) {
    throw new SvcError("validation", `${provider} needs no API key`);
  }
  const base_url = baseUrl(target);
  const ids: string[] = [];
  if (test) {
    try {
      const soon = AbortSignal.any([signal, AbortSignal.timeout(TEST_MS)]);
      await checkKey(target, soon);
      ids.push(...(await listModels(target, soon)).map(({ name }) => `${provider}/${name}`));
    } catch (error) {
      signal.throwIfAborted();
      throw notSaved(error, provider, api_key);
    }
  }
  await saveKey(paths, provider, { api_key, base_url });
  const usual = defaultOf(registry, provider);
  return {
    provider,
    tested: test,
    models: ids.slice(0, NAMED_MAX),
    models_count: ids.length,
    model: usual ?? ids[0],
    key_from: known.key_from === "environment" ? "environment" : "login",
  };
}

function notSaved(error: unknown, provider: string, api_key: string): SvcError {
  const { status = 0, message } = error instanceof ModelError
    ? error
    : new ModelError(`${provider} did not answer in time`, { retryable: true });
  if (status === 401) {
    return new SvcError("validation", `${provider} does not accept this key`, {
      hint: "copy it again from the provider's page; nothing was saved",
    });
  }
  // A provider may quote the key.
  const said = message.replaceAll(api_key, "…");
  return REFUSED.includes(status)
    ? new SvcError("validation", said, { hint: "nothing was saved" })
    : new SvcError("unavailable", said, {
      hint: "nothing was saved; check the network, or save the key without a test",
    });
}

function defaultOf(registry: ModelRegistry, provider: string): string | undefined {
  try {
    return registry.defaultIdOf(provider);
  } catch {
    // Some have none.
    return undefined;
  }
}
