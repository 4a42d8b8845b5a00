import { TextLineStream } from "@std/streams";
import { dial, dialOrStart } from "../client/connect.ts";
import { McpBridge } from "../client/mcp_bridge.ts";
import { LineWriter } from "../base/line_writer.ts";
import type { Input } from "./spec.ts";
import { ownPaths } from "./environment.ts";
import type { MCP_SERVE } from "./table/chat.ts";
import { visible } from "../base/visible.ts";
import { named } from "./own_name.ts";

/** Runs `svc mcp-serve`. */
export async function run({ flags }: Input<typeof MCP_SERVE>): Promise<number> {
  const paths = ownPaths();
  // Standard output carries only MCP.
  const notice = (text: string) => console.error(`svc: ${visible(named(text))}`);
  const bridge = new McpBridge({
    client: {
      caps: flags.caps,
      toolset: flags.toolset,
      safe_names: flags["safe-names"] || undefined,
    },
    dial: () => dial(paths),
    dialOrStart: () => dialOrStart(paths, () => notice("starting the daemon")),
    input: Deno.stdin.readable.pipeThrough(new TextDecoderStream())
      .pipeThrough(new TextLineStream()),
    output: new LineWriter(Deno.stdout, () => Deno.exit(0)),
    notice,
  });
  await bridge.run();
  return 0;
}
