/** Descriptions of the tool servers that a scope may use, and of their tools. */
import type { Trust } from "../../protocol/events.ts";
import type { BreakerState } from "./breaker.ts";
import type { RemoteTool } from "./connection.ts";
import type { ServerEntry } from "./policy.ts";
import type { ExternalServer } from "./server.ts";

/** The scope in which servers are looked up. */
export interface ExternalScope {
  trust: Trust;
  /** The session's directory; without one, only the operator's servers are found. */
  workdir?: string;
}

/** A tool of a server. */
export interface OfferedTool {
  server: ExternalServer;
  /** Whose policy defines the server. */
  scope: ServerScope;
  tool: RemoteTool;
}

export type ServerScope = "operator" | "project";

/** Why the tools of a server are missing. */
export interface ServerProblem {
  server: string;
  message: string;
}

/** The servers in a project's own file. */
export interface ProjectServers {
  /** Path of the file. */
  file: string;
  /** Of its text, in hexadecimal. */
  sha256: string;
  /** Whether a person has approved this exact text for this directory. */
  approved: boolean;
  /** What each server starts or connects to, as in the file. */
  runs: Record<string, Record<string, unknown>>;
}

/** The tools that the servers of a scope offer. */
export interface Offer {
  project?: ProjectServers;
  offered: OfferedTool[];
  /** Names of all servers that the scope may use. */
  servers: string[];
  problems: ServerProblem[];
}

/** A server as lists show it. */
export interface ServerItem {
  name: string;
  scope: ServerScope;
  transport: ServerEntry["transport"];
  trust: Trust;
  enabled: boolean;
  /** Why it cannot be used. */
  problem?: string;
  /** The number of running programs or open connections. */
  connected: number;
  breaker: BreakerState;
  /** When an open breaker allows the next probe: RFC 3339 in UTC. */
  breaker_until?: string;
  /** The number of its tools, once listed. */
  tools?: number;
}
