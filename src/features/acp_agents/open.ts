/** The daemon's ACP agents. Loaded at the first turn that uses one. */
import { VERSION } from "../../protocol/version.ts";
import type { Host } from "../../verbs/host.ts";
import { ACP } from "./config.ts";
import { Agents } from "./agents.ts";

/** Creates the host of agents, without starting any. */
export async function openAgents(host: Host): Promise<Agents> {
  const { turn_parts, config, env, log, sandbox, scope, checkout, units, builtin_tools, ids } =
    host;
  return new Agents({
    ...turn_parts,
    entries: () => config().of(ACP),
    env,
    log,
    version: VERSION,
    sandbox,
    scope,
    checkout,
    watchWrites: host.watchWrites,
    tools: await builtin_tools(),
    async readText(path, scope) {
      return (await units()).call("read_text", { path }, scope, scope.signal);
    },
    new_call_id: () => ids.next("call"),
  });
}
