import { TextLineStream } from "@std/streams";
import { dial, dialOrStart } from "../client/connect.ts";
import { McpBridge } from "../client/mcp_bridge.ts";
import { LineWriter } from "../base/line_writer.ts";
import { parseFlags, UsageError } from "./args.ts";
import { ownPaths } from "./environment.ts";
import { visible } from "../base/visible.ts";

const HELP =
  `Lets an MCP client drive svc over standard input and output. Starts the daemon when none runs, and
goes on with the next one when it is restarted.

Usage: svc mcp-serve [--caps read|write|all] [--safe-names]

  --caps read|write|all   tools to offer: read those that only look, write also those that change,
                          all also those that destroy; all by default
  --safe-names            svc_session_list in place of svc.session.list, for clients that take no
                          dots in the names of tools

In a client's configuration: {"command": "svc", "args": ["mcp-serve"]}. The daemon serves the same
at http://127.0.0.1:<port>/mcp, with its token (\`svc ctl discover\`).`;

const CAPS = ["read", "write", "all"];

/** Runs `svc mcp-serve`. */
export async function run(argv: string[]): Promise<number> {
  const { boolean, string, rest } = parseFlags(argv, {
    boolean: ["safe-names"],
    string: ["caps"],
  });
  if (boolean.help) {
    console.log(HELP);
    return 0;
  }
  if (rest.length > 0) throw new UsageError(`svc mcp-serve takes no argument "${rest[0]}"`);
  const { caps = "all" } = string;
  if (!CAPS.includes(caps)) {
    throw new UsageError(`--caps takes one of ${CAPS.join(", ")}, got "${caps}"`);
  }
  const paths = ownPaths();
  // Standard output carries MCP and nothing else.
  const notice = (text: string) => console.error(`svc: ${visible(text)}`);
  const bridge = new McpBridge({
    client: { caps, safe_names: boolean["safe-names"] ?? false },
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
