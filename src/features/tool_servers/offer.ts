/** What is told of the tool servers that a scope may use, and of their tools. */
import type { Trust } from "../../protocol/events.ts";
import type { BreakerState } from "./breaker.ts";
import type { RemoteTool } from "./connection.ts";
import type { ServerEntry } from "./policy.ts";
import type { ExternalServer } from "./server.ts";

/** For whom servers are looked up. */
export interface ExternalScope {
  trust: Trust;
  /** The session's directory; without one only the operator's servers are there. */
  workdir?: string;
}

/** A tool that a server offers. */
export interface OfferedTool {
  server: ExternalServer;
  /** Whose policy the server stands in. */
  scope: ServerScope;
  tool: RemoteTool;
}

export type ServerScope = "operator" | "project";

/** Why the tools of a server are missing. */
export interface ServerProblem {
  server: string;
  message: string;
}

/** The servers that a project's own file names. */
export interface ProjectServers {
  /** Path of the file. */
  file: string;
  /** Of its text, in hexadecimal. */
  sha256: string;
  /** Whether a person has approved this very text for this directory. */
  approved: boolean;
  /** What starts, or is connected to, by server, as the file has it. */
  runs: Record<string, Record<string, unknown>>;
}

/** What the servers of a scope offer. */
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
  /** Programs that run or connections that are open. */
  connected: number;
  breaker: BreakerState;
  /** When an open breaker lets a probe through, RFC 3339 in UTC. */
  breaker_until?: string;
  /** Number of its tools, once they were listed. */
  tools?: number;
}
