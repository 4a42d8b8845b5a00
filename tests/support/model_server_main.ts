/**
 * A model server in a process of its own, so that a measurement does not count its work:
 * `deno run -A tests/support/model_server_main.ts --kind openai --deltas 100 --pace-ms 0`
 * prints `{"url":…}` and serves until it is stopped.
 */

import { parseArgs } from "@std/cli/parse-args";
import { instantDeltas, startAnthropicServer, startOpenAiServer } from "./model_servers.ts";

const args = parseArgs(Deno.args, {
  string: ["kind", "port", "deltas", "pace-ms"],
  default: { kind: "openai", port: "0", deltas: "100", "pace-ms": "0" },
});
const script = instantDeltas(Number(args.deltas), { pace_ms: Number(args["pace-ms"]) });
const options = { port: Number(args.port), open: true, capture: false };

let server;
switch (args.kind) {
  case "openai":
    server = startOpenAiServer(script, options);
    break;
  case "anthropic":
    server = startAnthropicServer(script, options);
    break;
  default:
    console.error(`--kind is openai or anthropic, got "${args.kind}"`);
    Deno.exit(2);
}
console.log(JSON.stringify({ url: server.url }));
