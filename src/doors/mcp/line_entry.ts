/** Detects the MCP revision of a connection's client. */
import type { Receiver } from "../rpc/connection.ts";

/** Later revisions have no sessions. */
export const LAST_WITH_SESSIONS = "2025-11-25";

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

interface LineServers {
  /** For clients with sessions. */
  withSession(): Promise<Receiver>;
  /** For clients of later revisions. */
  stateless(): Promise<Receiver>;
}

/** Picks a server by the first message; `initialize` may still begin a session later. */
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

/** The revision and method in a message. */
function claimOf(text: string): { method?: unknown; version: string } {
  try {
    const { method, params } = JSON.parse(text) ?? {};
    return { method, version: String(params?._meta?.[VERSION_KEY] ?? "") };
  } catch {
    return { version: "" };
  }
}
