/** `svc login` and `svc logout`: the keys of model providers. */
import { toText } from "@std/streams";
import { visibleLine } from "../base/visible.ts";
import { connectIfAny } from "../client/connect.ts";
import { readConfig } from "../config/read.ts";
import { SECTIONS } from "../features/registry.ts";
import { removeKey, requireKey, saveKey } from "../models/key_change.ts";
import { KeyFile } from "../models/key_file.ts";
import { ModelError } from "../models/model.ts";
import { takesKey } from "../models/overview.ts";
import { type Preset, presetOf } from "../models/presets.ts";
import { baseUrl } from "../models/provider_http.ts";
import type { ModelRegistry } from "../models/registry.ts";
import type { HomePaths } from "../os/paths.ts";
import { sessionDirs } from "../os/session_dirs.ts";
import { SvcError } from "../protocol/errors.ts";
import { UsageError } from "./define.ts";
import { env, ownPaths } from "./environment.ts";
import { askHidden } from "./hidden_input.ts";
import { ownRegistry } from "./own_models.ts";
import type { Input } from "./spec.ts";
import type { LOGIN, LOGOUT } from "./table/models.ts";
import { named, ownName } from "./own_name.ts";

const INTERRUPTED = 130;

interface Place {
  address?: string;
  key_from?: string;
}

/** Runs `svc login`. */
export async function login({ flags, args }: Input<typeof LOGIN>): Promise<number> {
  const paths = ownPaths();
  const registry = ownRegistry(await readConfig(paths.config, SECTIONS), env, paths);
  const provider = args.provider ??
    choose("Log in to which provider?", withKeys(registry), `${ownName()} login <provider>`);
  if (provider === undefined) return INTERRUPTED;
  const place = await placeOf(provider, registry);
  const target = registry.target(provider, "none");
  if (!withKeys(registry).includes(provider)) {
    throw new SvcError("validation", `${provider} needs no API key`);
  }
  // A running daemon may know another address from its environment.
  const base_url = baseUrl({ ...target, base_url: place.address ?? target.base_url });
  const pkce = target.known && !flags.key && !flags["key-stdin"]
    ? presetOf(provider)?.pkce
    : undefined;
  const given = pkce === undefined
    ? await readKey(provider, base_url, flags["key-stdin"])
    : await inBrowser(provider, base_url, pkce, paths);
  if (given === undefined) return INTERRUPTED;
  const api_key = requireKey(given);
  // A key that the provider has just issued needs no check.
  if (!flags["no-check"] && pkce === undefined) await check({ ...target, base_url, api_key });
  await saveKey(paths, provider, { api_key, base_url });
  console.log(
    named(`saved the key of ${provider} in ${paths.keys}; \`svc models\` lists its models`),
  );
  if (place.key_from === "environment") {
    const names = registry.details().find((it) => it.provider === provider)?.key_env ?? [];
    console.log(
      `the daemon's environment also has a key (${names.join(" or ")}), and that one is used`,
    );
  }
  return 0;
}

/** Runs `svc logout`. */
export async function logout({ args }: Input<typeof LOGOUT>): Promise<number> {
  const paths = ownPaths();
  const saved = Object.keys(new KeyFile(paths.keys).all());
  const provider = args.provider ??
    (saved.length === 0
      ? ""
      : choose("Log out of which provider?", saved, `${ownName()} logout <provider>`));
  if (provider === undefined) return INTERRUPTED;
  if (!await removeKey(paths, provider)) {
    const message = provider === "" ? "no key is saved" : `no key is saved for ${provider}`;
    throw new SvcError("not_found", message, {
      hint: saved.length > 0
        ? `saved: ${saved.join(", ")}`
        : "keys in the environment of the daemon are removed there",
    });
  }
  console.log(`removed the key of ${provider} from ${paths.keys}`);
  const { key_from } = await placeOf(
    provider,
    ownRegistry(await readConfig(paths.config, SECTIONS), env, paths),
  );
  if (key_from === "environment") {
    console.log("the daemon's environment still has a key, and that one is used");
  }
  return 0;
}

/** The providers that a key can be saved for. */
function withKeys(registry: ModelRegistry): string[] {
  return registry.details()
    .filter((it) => takesKey(registry, it))
    .map(({ provider }) => provider);
}

/** Asks the running daemon; without one, uses this environment. */
async function placeOf(provider: string, registry: ModelRegistry): Promise<Place> {
  const own = registry.details();
  const rpc = await connectIfAny(ownPaths());
  try {
    const providers = rpc === undefined
      ? own
      : (await rpc.call("models.list", { ask: false })).providers as typeof own;
    return providers.find((it) => it.provider === provider) ?? {};
  } finally {
    rpc?.close();
  }
}

/** @throws {UsageError} when there is no terminal to ask on */
function choose(
  question: string,
  names: readonly string[],
  instead: string,
): string | undefined {
  if (!Deno.stdin.isTerminal()) {
    throw new UsageError("which provider?", `${instead}: ${names.join(", ")}`);
  }
  names.forEach((name, n) => console.log(`  ${n + 1}  ${visibleLine(name)}`));
  const answer = prompt(question)?.trim();
  if (answer === undefined) return undefined;
  const chosen = /^\d+$/.test(answer) ? names[Number(answer) - 1] : answer;
  if (chosen === undefined || chosen === "") {
    throw new UsageError(`expected a provider or a number from 1 to ${names.length}`);
  }
  return chosen;
}

/** @returns undefined after Ctrl-C */
async function inBrowser(
  provider: string,
  base_url: string,
  { authorize, exchange }: NonNullable<Preset["pkce"]>,
  { index }: HomePaths,
): Promise<string | undefined> {
  const { loginInBrowser } = await import("../models/pkce_login.ts");
  const { openInBrowser } = await import("../os/open_url.ts");
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  Deno.addSignalListener("SIGINT", onInterrupt);
  try {
    return await loginInBrowser({
      provider,
      authorize_url: new URL(authorize, `${base_url}/`).href,
      exchange_url: new URL(exchange, `${base_url}/`).href,
      signal: stop.signal,
      async show(page, once) {
        console.log(`log in to ${provider} in the browser:\n\n  ${page}\n`);
        const opened = await openInBrowser(once, sessionDirs(index));
        if (!opened) console.log("could not start a browser; open the address yourself");
        return opened;
      },
    });
  } catch (error) {
    if (stop.signal.aborted) return undefined;
    throw error;
  } finally {
    Deno.removeSignalListener("SIGINT", onInterrupt);
  }
}

async function readKey(
  provider: string,
  base_url: string,
  from_stdin: boolean,
): Promise<string | undefined> {
  const terminal = Deno.stdin.isTerminal();
  if (from_stdin && terminal) {
    throw new UsageError(
      "--key-stdin reads a key from a pipe, and a terminal would show it",
      "leave out --key-stdin to type the key",
    );
  }
  if (from_stdin) return await toText(Deno.stdin.readable);
  if (terminal) return await askHidden(`API key of ${provider} (${base_url}), not shown: `);
  throw new UsageError(
    "there is no terminal to ask for the key",
    `${ownName()} login ${provider} --key-stdin < key.txt`,
  );
}

/** @throws {SvcError} if the provider refuses the key or cannot be asked */
async function check(target: ReturnType<ModelRegistry["target"]>): Promise<void> {
  const { checkKey } = await import("../models/model_lists.ts");
  try {
    await checkKey(target, AbortSignal.timeout(60_000));
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    const { status = 0, message } = error;
    throw new SvcError("validation", message, {
      hint: [400, 401, 403].includes(status)
        ? "the key was not saved; copy it again from the provider's page"
        : "the key was not saved; --no-check saves it without asking the provider",
    });
  }
}
