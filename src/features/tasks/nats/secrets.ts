import type { Env } from "../../../os/paths.ts";
import type { NatsConfig } from "../config.ts";

/** The secrets that the keys of `[tasks]` name, for the log to mask. */
export function natsSecrets(config: NatsConfig, env: Env): (string | undefined)[] {
  return [config.nats_token_env, config.nats_password_env].map((name) => name && env(name));
}
