/** Finds out which revision of MCP the client of a connection speaks. */
import type { Receiver } from "../rpc/connection.ts";

/** Later revisions have no sessions. */
export const LAST_WITH_SESSIONS = "2025-11-25";

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

export interface LineServers {
  /** Opens a server for clients with sessions. */
  withSession(): Promise<Receiver>;
  /** Opens a server for clients of later revisions. */
  stateless(): Promise<Receiver>;
}

/**
 * Gives each message of a connection to a server that the client understands. The first message
 * decides; `initialize` begins a session even after a client has asked what else there is.
 */
export class LineEntry implements Receiver {
  readonly #servers: LineServers;
  #server: Promise<Receiver> | undefined;
  #has_session = false;

  constructor(servers: LineServers) {
    this.#servers = servers;
  }

  async receive(text: string): Promise<void> {
    await (await this.#serverFor(text)).receive(text);
  }

  dispose(): void {
    this.#server?.then((server) => server.dispose()).catch(() => {});
  }

  #serverFor(text: string): Promise<Receiver> {
    if (this.#server !== undefined && this.#has_session) return this.#server;
    const { method, version } = claimOf(text);
    const stateless = version > LAST_WITH_SESSIONS || method === "server/discover";
    if (this.#server !== undefined && method !== "initialize") return this.#server;
    this.#has_session = !stateless;
    return this.#server = stateless ? this.#servers.stateless() : this.#servers.withSession();
  }
}

/** Returns what a message says about its revision. */
function claimOf(text: string): { method?: unknown; version: string } {
  try {
    const { method, params } = JSON.parse(text) ?? {};
    return { method, version: String(params?._meta?.[VERSION_KEY] ?? "") };
  } catch {
    return { version: "" };
  }
}
