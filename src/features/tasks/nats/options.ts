/** The connection options from `[tasks]` in daemon.toml. */
import {
  type Authenticator,
  type ConnectionOptions,
  credsAuthenticator,
  nkeyAuthenticator,
} from "@nats-io/nats-core";
import { messageOf, SvcError } from "../../../protocol/errors.ts";
import type { Env } from "../../../os/paths.ts";
import type { NatsConfig } from "../config.ts";

/** How long the server may take to accept a connection, in milliseconds. */
export const CONNECT_MS = 2_000;
const RECONNECT_MIN_MS = 250;
const RECONNECT_SPREAD_MS = 750;
/** A server that misses two pings counts as lost. */
const PING_MS = 10_000;

/**
 * Returns the options of a connection; credentials are read again each time.
 *
 * @param name the name of the connection on the server
 * @throws {SvcError} validation when a file cannot be read or a variable is not set
 */
export async function connectionOptions(
  config: NatsConfig,
  { env, name }: { env: Env; name: string },
): Promise<ConnectionOptions> {
  const servers = config.nats_url.split(",").map((it) => it.trim());
  return {
    servers,
    name,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: () => RECONNECT_MIN_MS + Math.random() * RECONNECT_SPREAD_MS,
    // An operator may be changing credentials on the server right now.
    ignoreAuthErrorAbort: true,
    authenticator: await authenticators(config),
    token: variable(config.nats_token_env, env),
    user: config.nats_user,
    pass: variable(config.nats_password_env, env),
    tls: await tlsOptions(config, servers),
  };
}

async function authenticators(config: NatsConfig): Promise<Authenticator[]> {
  const { nats_creds_file: creds, nats_nkey_file: nkey } = config;
  return [
    ...(creds === undefined ? [] : [credsAuthenticator(await bytes(creds))]),
    ...(nkey === undefined ? [] : [nkeyAuthenticator(trimmed(await bytes(nkey)))]),
  ];
}

async function bytes(path: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (cause) {
    throw new SvcError("validation", `${path} cannot be read: ${messageOf(cause)}`, {
      hint: "fix the file, or its path under [tasks] in daemon.toml",
      cause,
    });
  }
}

function trimmed(seed: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder().decode(seed).trim());
}

function variable(name: string | undefined, env: Env): string | undefined {
  if (name === undefined) return undefined;
  const value = env(name);
  if (value !== undefined) return value;
  throw new SvcError("validation", `${name}, named under [tasks] in daemon.toml, is not set`, {
    hint: `set ${name} in the environment of svc`,
  });
}

async function tlsOptions(
  { nats_ca_file: ca }: NatsConfig,
  servers: readonly string[],
): Promise<ConnectionOptions["tls"]> {
  if (ca !== undefined) return { ca: new TextDecoder().decode(await bytes(ca)) };
  return servers.some((url) => url.startsWith("tls://")) ? {} : undefined;
}
