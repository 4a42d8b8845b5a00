/** Which agents of the Agent Client Protocol can be a session's mind: `acp/<name>`. */
import type { Env } from "../os/paths.ts";
import { which } from "../os/which.ts";

const PREFIX = "acp/";

/** What may follow `acp/`: no path, so that it is found on the PATH or configured. */
export const ACP_NAME = /^[\w.-]+$/;

/** `[acp.<name>]` of daemon.toml. */
export interface AcpEntry {
  /** The program, found on the PATH, or an absolute path. */
  command: string;
  args: string[];
  /** Variables of the daemon that it is given, such as those with its keys. */
  env: string[];
  /** Whether it reaches the network, beside its working directory. */
  network: boolean;
}

/** The agent that a model id names; undefined when it names none. */
export function acpName(model_id: string): string | undefined {
  return model_id.startsWith(PREFIX) ? model_id.slice(PREFIX.length) : undefined;
}

/** Why an agent cannot be started; undefined when it can. */
export function agentProblem(
  name: string,
  entries: Readonly<Record<string, AcpEntry>>,
  env: Env,
): string | undefined {
  if (!ACP_NAME.test(name)) {
    return `acp/${name}: the name of an agent must be a program without a path`;
  }
  const { command } = acpEntry(name, entries);
  if (which(command, env("PATH")) !== undefined) return undefined;
  return `acp/${name}: there is no program ${command} on the daemon's PATH; ` +
    `set the command to start in [acp.${name}] in daemon.toml`;
}

/** What is started for a name: what daemon.toml says, else the program of that name. */
export function acpEntry(name: string, entries: Readonly<Record<string, AcpEntry>>): AcpEntry {
  if (Object.hasOwn(entries, name)) return entries[name];
  return { command: name, args: [], env: [], network: false };
}
