/** The tool servers that a scope may use, and their tools. */
import type * as z from "zod";
import type { Trust } from "../../protocol/events.ts";
import type { RemoteTool } from "./listing.ts";
import type { ExternalServer } from "./server.ts";
import type { projectServersSchema, serverItemSchema } from "./schemas.ts";

export interface ExternalScope {
  trust: Trust;
  /** The session's directory; without one, only the operator's servers are found. */
  workdir?: string;
}

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

export type ProjectServers = z.output<ReturnType<typeof projectServersSchema>>;

export interface Offer {
  project?: ProjectServers;
  offered: OfferedTool[];
  /** Names of all servers that the scope may use. */
  servers: string[];
  problems: ServerProblem[];
}

export type ServerItem = z.output<ReturnType<typeof serverItemSchema>>;
