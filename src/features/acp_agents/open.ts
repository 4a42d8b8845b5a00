/** The agents over ACP of a daemon. Loaded at the first turn of a session that has one. */
import { VERSION } from "../../protocol/version.ts";
import type { Host } from "../../verbs/host.ts";
import { ACP } from "./config.ts";
import { Minds } from "./minds.ts";

/** Makes what runs them; none is started. */
export async function openMinds(host: Host): Promise<Minds> {
  const { turn_parts, config, env, log, sandbox, scope, units, builtin_tools, ids } = host;
  return new Minds({
    ...turn_parts,
    entries: () => config().of(ACP),
    env,
    log,
    version: VERSION,
    sandbox,
    scope,
    tools: await builtin_tools(),
    async readText(path, scope) {
      return (await units()).call("read_text", { path }, scope, scope.signal);
    },
    new_call_id: () => ids.next("call"),
  });
}
