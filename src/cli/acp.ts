import { connectOrStart, connectPatiently } from "../client/connect.ts";
import type { RpcClient } from "../client/rpc.ts";
import { SvcError } from "../protocol/errors.ts";
import type { HomePaths } from "../os/paths.ts";
import { VERSION } from "../protocol/version.ts";
import { parseFlags, UsageError } from "./args.ts";
import { ownPaths } from "./environment.ts";
import { visible } from "../base/visible.ts";

const HELP =
  `Lets an editor that speaks the Agent Client Protocol (Zed, JetBrains, Neovim) drive sessions, over
standard input and output. Starts the daemon when none runs, and goes on with the next one when it
is restarted. Sessions stay in the daemon when the editor goes.

Usage: svc acp [-m <provider>/<model>] [--approve auto|ask|read_only]

  -m, --model   model of the sessions that the editor starts
  --approve     what these sessions may do without asking

In Zed's settings:
  "agent_servers": {"svc": {"type": "custom", "command": "svc", "args": ["acp"]}}`;

const APPROVALS = ["auto", "ask", "read_only"];
/** Tries, a backoff apart, before a daemon that is gone is started again. */
const RETRIES = 1;

/** Runs `svc acp`, until its input ends. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, string, rest } = parseFlags(argv, {
    string: ["model", "approve"],
    alias: { m: "model" },
  });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  if (rest.length > 0) throw new UsageError(`svc acp takes no argument "${rest[0]}"`);
  const { model, approve } = string;
  if (approve !== undefined && !APPROVALS.includes(approve)) {
    throw new UsageError(`--approve takes one of ${APPROVALS.join(", ")}, got "${approve}"`);
  }
  const paths = ownPaths();
  const { acpAgent } = await import("../acp/agent.ts");
  const { ndJsonStream } = await import("@agentclientprotocol/sdk");
  // Standard output carries the protocol and nothing else.
  const notice = (text: string) => console.error(`svc: ${visible(text)}`);
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

/** Waits for a daemon that may be on its way, after a restart, before one is started. */
async function reconnect(paths: HomePaths): Promise<RpcClient> {
  try {
    return await connectPatiently(paths, () => {}, RETRIES);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== "not_found") throw error;
    return await connectOrStart(paths, () => {});
  }
}
