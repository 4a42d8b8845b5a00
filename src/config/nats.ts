/** The keys of `[tasks]` in daemon.toml that are about NATS. */
import type { Env } from "../os/paths.ts";

export interface NatsConfig {
  /** `nats://` or `tls://` and a host; several, separated by commas, for a cluster. */
  nats_url: string;
  /** A file with a JWT and its key, as `nsc` writes it. */
  nats_creds_file?: string;
  /** A file with the seed of an nkey. */
  nats_nkey_file?: string;
  /** The environment variable that has the token. */
  nats_token_env?: string;
  nats_user?: string;
  /** The environment variable that has the password. */
  nats_password_env?: string;
  /** A certificate in PEM that the server's is checked against, beside the system's. */
  nats_ca_file?: string;
}

/** The secrets that the keys name, for the log to mask. */
export function natsSecrets(config: NatsConfig, env: Env): (string | undefined)[] {
  return [config.nats_token_env, config.nats_password_env].map((name) => name && env(name));
}
