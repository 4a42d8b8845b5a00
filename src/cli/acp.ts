import { connectOrStart, connectPatiently } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { SvcError } from "../protocol/errors.ts";
import type { HomePaths } from "../os/paths.ts";
import { VERSION } from "../protocol/version.ts";
import type { Input } from "./spec.ts";
import { ownPaths } from "./environment.ts";
import type { ACP } from "./table/chat.ts";
import { visible } from "../base/visible.ts";
import { named } from "./own_name.ts";

/** Attempts, with a backoff between them, before a missing daemon is started again. */
const RETRIES = 1;

/** Runs `svc acp`, until its input ends. */
export async function run({ flags: { model, approve } }: Input<typeof ACP>): Promise<number> {
  const paths = ownPaths();
  const { acpAgent } = await import("../acp/agent.ts");
  const { ndJsonStream } = await import("@agentclientprotocol/sdk");
  // Standard output carries only the protocol.
  const notice = (text: string) => console.error(`svc: ${visible(named(text))}`);
  const onStarting = () => notice("starting the daemon");
  const app = acpAgent({
    version: VERSION,
    connect: (again) => again ? reconnect(paths) : connectOrStart(paths, onStarting),
    start: { model, approval: approve },
    notice,
  });
  await app.connect(ndJsonStream(Deno.stdout.writable, Deno.stdin.readable)).closed;
  return 0;
}

/** Waits for a daemon that may be restarting before it starts one. */
async function reconnect(paths: HomePaths): Promise<RpcClient> {
  try {
    return await connectPatiently(paths, () => {}, RETRIES);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== "not_found") throw error;
    return await connectOrStart(paths, () => {});
  }
}
