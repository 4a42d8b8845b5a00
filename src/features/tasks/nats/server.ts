/** Checks a NATS server once. */
import { jetstreamManager } from "@nats-io/jetstream";
import type { Env } from "../../../os/paths.ts";
import type { NatsConfig } from "../config.ts";
import { connectionOptions } from "./options.ts";
import { connect } from "./transport.ts";

/**
 * Returns the server's version, and the number of streams in the account.
 *
 * @throws {SvcError} like {@linkcode connectionOptions}; {Error} when it does not answer, or has no
 * JetStream
 */
export async function natsServer(
  config: NatsConfig,
  env: Env,
): Promise<{ version: string; streams: number }> {
  const options = await connectionOptions(config, { env, name: "svc doctor" });
  const nc = await connect({ ...options, reconnect: false });
  try {
    const { streams } = await (await jetstreamManager(nc)).getAccountInfo();
    return { version: nc.info?.version ?? "of an unknown version", streams };
  } finally {
    await nc.close();
  }
}
