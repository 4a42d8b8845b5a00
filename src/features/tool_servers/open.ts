/** Loaded when a policy defines a tool server, or a project may. */
import type { Hub } from "../../session/hub.ts";
import { programArgv } from "../../jail/sandbox.ts";
import { type ExternalPolicy, ExternalServers } from "./servers.ts";
import { ProjectApprovals } from "./approvals.ts";
import type { ServerChange } from "./policy_editor.ts";
import { Logins } from "./logins.ts";
import { SessionTools } from "./tools.ts";
import { personsPrograms } from "../../os/own_programs.ts";
import type { Host } from "../../verbs/host.ts";
import { SYSTEM_CLOCK } from "../../base/clock.ts";

export interface ToolServers {
  servers: ExternalServers;
  session_tools: SessionTools;
}

/** Creates the tool servers without starting any. */
export function makeToolServers(
  { env, log, paths, path, writable, sandbox, scope, config, models, watchWrites }: Host,
  policy: ExternalPolicy,
): ToolServers {
  const servers = new ExternalServers({
    env,
    log,
    clock: SYSTEM_CLOCK,
    find: personsPrograms(env, path, writable),
    approvals: new ProjectApprovals(paths.project_servers),
    logins: new Logins(paths.mcp_logins),
    onSecrets: (secrets) => log.mask(...secrets),
    confine: async (argv, workdir, env) =>
      programArgv(await sandbox(), argv, { ...scope(workdir), env }),
  }, policy);
  // A fallback model is offered the same tools.
  const tools_max = (model: string) =>
    Math.min(...[model, ...config().agent.fallback].map((id) => models().toolsMax(id)));
  return { servers, session_tools: new SessionTools(servers, tools_max, watchWrites) };
}

export interface ToolServerServices {
  readonly hub: Hub;
  /** Returns the tool servers of policy.yaml, loaded on first use. */
  tool_servers(): Promise<ExternalServers>;
  readonly policy_path: string;
  /** Changes one server in policy.yaml, and uses the file. @returns its revision */
  change_policy(change: ServerChange, revision: string): Promise<string>;
}
