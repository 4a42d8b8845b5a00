/** Creates the daemon's tool servers. Loaded when a policy defines one, or a project may. */
import type { Hub } from "../../session/hub.ts";
import { programArgv, type Sandbox, type SandboxScope } from "../../jail/sandbox.ts";
import { type ExternalPolicy, ExternalServers } from "./servers.ts";
import { ProjectApprovals } from "./approvals.ts";
import { SessionTools } from "./tools.ts";
import type { LogFile } from "../../os/log.ts";
import { personsPrograms } from "../../os/own_programs.ts";
import type { Env } from "../../os/paths.ts";
import { SYSTEM_CLOCK } from "../../base/clock.ts";

export interface ToolServerParts {
  env: Env;
  log: LogFile;
  /** The file with the approvals of projects' servers. */
  approvals: string;
  policy: ExternalPolicy;
  /** The directories on the daemon's PATH that existed at its start. */
  path: string;
  /** Real paths of the directories that sessions can write. */
  writable(): readonly string[];
  sandbox(): Promise<Sandbox>;
  /** Returns what a command in a directory may see. */
  scope(workdir: string): SandboxScope;
}

/** The servers, and their tools for turns. */
export interface ToolServers {
  servers: ExternalServers;
  session_tools: SessionTools;
}

/** Creates the tool servers without starting any. */
export function makeToolServers(parts: ToolServerParts): ToolServers {
  const { env, log, approvals, policy, path, writable, sandbox, scope } = parts;
  const servers = new ExternalServers({
    env,
    log,
    clock: SYSTEM_CLOCK,
    find: personsPrograms(env, path, writable),
    approvals: new ProjectApprovals(approvals),
    onSecrets: (secrets) => log.mask(...secrets),
    confine: async (argv, workdir, env) =>
      programArgv(await sandbox(), argv, { ...scope(workdir), env }),
  }, policy);
  return { servers, session_tools: new SessionTools(servers) };
}

/** The services of the tool server verbs. */
export interface ToolServerServices {
  readonly hub: Hub;
  /** Returns the tool servers of policy.yaml, loaded on first use. */
  tool_servers(): Promise<ExternalServers>;
}
