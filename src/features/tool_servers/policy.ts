/** `policy.yaml`: the tool servers that the operator or a project offers to sessions. */
import { readTextIfAny } from "../../os/files.ts";
import type { Trust } from "../../protocol/events.ts";
import type { DeployTarget } from "./deploy_target.ts";
import type { OAuthClient } from "./policy_file.ts";

/** One entry of `mcp_servers`, with all defaults. */
export type ServerEntry = CommonEntry & (StdioEntry | HttpEntry);

interface CommonEntry {
  name: string;
  /** The environment variable of the daemon with the credential. */
  auth_env?: string;
  /** Untrusted sessions see only the tools of untrusted servers. */
  trust: Trust;
  /** The most calls in progress; others wait. */
  max_concurrent: number;
  /** The time limit for one call. */
  timeout_ms: number;
  /** The server is stopped after this time without a call. */
  idle_ms: number;
  enabled: boolean;
}

export interface StdioEntry {
  transport: "stdio";
  command: string;
  args: string[];
  /** Values may name variables of the daemon's environment as `${NAME}`. */
  env: Record<string, string>;
}

export interface HttpEntry {
  transport: "http";
  /** https, or plain http on this machine. */
  url: string;
  /** Like `env`. */
  headers: Record<string, string>;
  /** A client that was registered by hand, for a server that registers none itself. */
  oauth?: OAuthClient;
}

export interface Policy {
  servers: ServerEntry[];
  /** Only those in the operator's own file count. */
  deploy_targets: DeployTarget[];
}

export const NO_POLICY: Policy = { servers: [], deploy_targets: [] };

export const PROJECT_POLICY = "svc.policy.yaml";

/**
 * Reads the operator's policy file, if there is one.
 *
 * @throws {SvcError} validation, naming file, line, key and the nearest known key
 */
export async function readPolicy(path: string): Promise<Policy> {
  return await toPolicy(await readTextIfAny(path), path);
}

/** Parses a policy file's text. @throws as {@linkcode readPolicy}. */
export async function toPolicy(text: string | undefined, path: string): Promise<Policy> {
  if (text === undefined) return NO_POLICY;
  const { parsePolicy } = await import("./policy_file.ts");
  return parsePolicy(text, path);
}
