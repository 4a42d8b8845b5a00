/** Agents over the Agent Client Protocol that answer a session's turns: `acp/<name>`. */
import type * as z from "zod";
import type { Env } from "../os/paths.ts";
import { which } from "../os/which.ts";
import type { acpEntrySchema } from "../protocol/schemas/models.ts";

const PREFIX = "acp/";

/** A name without a path, looked up on the PATH or in daemon.toml. */
export const ACP_NAME = /^[\w.-]+$/;

/** `[acp.<name>]` of daemon.toml. */
export type AcpEntry = z.output<ReturnType<typeof acpEntrySchema>>;

/** Returns the agent's name in a model id, if it is one of an agent. */
export function acpName(model_id: string): string | undefined {
  return model_id.startsWith(PREFIX) ? model_id.slice(PREFIX.length) : undefined;
}

/** Returns why an agent cannot be started, if so. */
export function agentProblem(
  name: string,
  entries: Readonly<Record<string, AcpEntry>>,
  env: Env,
): string | undefined {
  if (!ACP_NAME.test(name)) {
    return `acp/${name}: expected the name of a program, without a path`;
  }
  const { command } = acpEntry(name, entries);
  if (which(command, env("PATH")) !== undefined) return undefined;
  return `acp/${name}: program ${command} was not found on the daemon's PATH; ` +
    `set command in [acp.${name}] in daemon.toml`;
}

/** Returns the entry in daemon.toml, or else the program of that name. */
export function acpEntry(name: string, entries: Readonly<Record<string, AcpEntry>>): AcpEntry {
  if (Object.hasOwn(entries, name)) return entries[name];
  return { command: name, args: [], env: [], network: false };
}
