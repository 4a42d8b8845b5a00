/** Logins at providers that give a key in the browser. Loaded when somebody logs in. */
import { abortable } from "@std/async";
import type * as z from "zod";
import { loginInBrowser } from "../../models/pkce_login.ts";
import { presetOf } from "../../models/presets.ts";
import { baseUrl } from "../../models/provider_http.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import { SvcError } from "../../protocol/errors.ts";
import { type SaveKeyParts, saveProviderKey } from "./save_key.ts";
import type { savedKeySchema } from "./schemas.ts";

type SavedKey = z.output<ReturnType<typeof savedKeySchema>>;

interface Waiting {
  done: Promise<SavedKey>;
  stop: AbortController;
}

/** Returns the pages of a provider's login, if it has one. @throws {SvcError} if it is unknown */
export function loginPages(
  registry: ModelRegistry,
  provider: string,
): { authorize_url: string; exchange_url: string } | undefined {
  const pkce = presetOf(provider)?.pkce;
  const target = registry.target(provider, "none");
  if (pkce === undefined || !target.known) return undefined;
  const base = `${baseUrl(target)}/`;
  return {
    authorize_url: new URL(pkce.authorize, base).href,
    exchange_url: new URL(pkce.exchange, base).href,
  };
}

/** The logins that wait for a person, one for each provider. */
export class ProviderLogins {
  readonly #waiting = new Map<string, Waiting>();

  /**
   * Begins a login, in the place of an earlier one of the provider that still waits.
   *
   * @returns the page where the person agrees
   * @throws {SvcError} validation for a provider without such a page
   */
  async begin(parts: Omit<SaveKeyParts, "signal">, provider: string): Promise<string> {
    const pages = loginPages(parts.registry, provider);
    if (pages === undefined) {
      throw new SvcError("validation", `${provider} gives no key in the browser`, {
        hint: "paste a key of it, or run `svc login`",
      });
    }
    this.#waiting.get(provider)?.stop.abort(
      new SvcError("conflict", "another login at this provider has begun"),
    );
    const stop = new AbortController();
    const { signal } = stop;
    const page = Promise.withResolvers<string>();
    const login = async () => {
      const key = await loginInBrowser({
        provider,
        ...pages,
        signal,
        show(shown) {
          page.resolve(shown);
          // Nothing opens the address that leads there once.
          return Promise.resolve(false);
        },
      });
      const save = (test: boolean) =>
        saveProviderKey({ ...parts, signal }, { provider, key, test });
      return await save(true).catch((error) => {
        if (!(error instanceof SvcError) || error.code !== "unavailable") throw error;
        return save(false);
      });
    };
    const done = login();
    const waiting = { done, stop };
    this.#waiting.set(provider, waiting);
    // Whoever waits is told; nobody may.
    done.catch(page.reject);
    return await page.promise;
  }

  /**
   * Waits for the end of a provider's newest login. Its outcome is told as often as somebody asks,
   * until the next one begins.
   *
   * @throws {SvcError} not_found if none has begun; why it failed
   */
  async end(provider: string, signal: AbortSignal): Promise<SavedKey> {
    const waiting = this.#waiting.get(provider);
    if (waiting === undefined) {
      throw new SvcError("not_found", `no login at ${provider} has begun`, {
        hint: "call models.login first",
      });
    }
    return await abortable(waiting.done, signal);
  }

  /** Ends all that wait. */
  async stop(): Promise<void> {
    const all = [...this.#waiting.values()];
    for (const { stop } of all) stop.abort(new SvcError("unavailable", "svc is stopping"));
    await Promise.allSettled(all.map(({ done }) => done));
  }
}
