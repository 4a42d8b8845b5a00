/** The doors of a daemon: loopback HTTP, the local socket and, where they are asked for, agent routes. */
import { Guards } from "../doors/guards.ts";
import { BODY_MAX, httpDoor } from "../doors/http.ts";
import { serveSocket } from "../doors/socket.ts";
import type { HireOptions } from "../features/hire/listener.ts";
import type { HttpListener } from "../net/http_listener.ts";
import type { McpHost } from "../doors/mcp/host.ts";
import type { Log } from "../os/log.ts";
import type { HomePaths } from "../os/paths.ts";
import type { Endpoint, TcpPeer } from "../os/tcp_peer.ts";
import { within } from "../base/within.ts";
import type { TaskEngine } from "../features/tasks/engine.ts";
import type { Hub } from "../session/hub.ts";
import type { Dispatcher } from "../verbs/define.ts";
import type { Discovery } from "../protocol/discovery.ts";
import { PROTOCOL_VERSION, VERSION } from "../protocol/version.ts";
import type { Config } from "../config/config.ts";
import { Opener } from "../base/lazy.ts";
import { listenHttp } from "./listen.ts";
import { listenLocal } from "./listen_local.ts";

/** Where a daemon listens. */
export interface DoorOptions {
  hostname: string;
  /** 0 picks a free port. */
  port: number;
  /** How tasks are taken for hire; not at all by default. */
  hire?: HireOptions;
}

/**
 * Finds who is at the other end of a connection of this machine; undefined where the system cannot
 * tell. One that is not there belongs to nobody.
 */
export type FindPeer = (peer: Endpoint, own: Endpoint) => Promise<TcpPeer | undefined>;

export interface DoorParts extends DoorOptions {
  paths: HomePaths;
  uid: number;
  /** Of the daemon's own surface. */
  token: string;
  /** Tokens of those who may hire. */
  hire_tokens: readonly string[];
  dispatcher: Dispatcher;
  hub: Hub;
  log: Log;
  config(): Config;
  tasks(): Promise<TaskEngine>;
  stopping(): boolean;
  /** Told of the daemon's own address before the first request is answered. */
  onListening(discovery: Discovery): void;
  findPeer: FindPeer;
}

export interface Doors {
  readonly discovery: Discovery;
  /** Where tasks are taken for hire, if they are. */
  readonly hire_port?: number;
  /** Goes by the configuration as it is now. */
  reconfigure(): void;
  /** Lets the answers that are on their way out; what is still open then is cut off. */
  close(): Promise<void>;
}

/** How long answers and events that are on their way may take when the daemon is stopping. */
const DRAIN_MS = 1_000;

/**
 * Opens the doors. Whoever has them writes the discovery file; closing them removes it.
 *
 * @throws {SvcError} conflict when an address is taken; permission_denied for a socket that is not ours.
 */
export async function openDoors(parts: DoorParts): Promise<Doors> {
  const { paths, log, dispatcher, hub, tasks, token, config, stopping } = parts;
  using cleanup = new DisposableStack();
  let { port } = parts;
  const mcp: Opener<McpHost> = new Opener(() =>
    import("../doors/mcp/host.ts").then(({ McpHost }) => new McpHost(dispatcher, hub, BODY_MAX))
  );
  const newGuards = () =>
    new Guards({ port, token, allowed_origins: config().http.allowed_origins });
  let guards: Guards;
  const http = httpDoor({
    dispatcher,
    hub,
    tasks,
    guards: () => guards,
    stopping,
    log,
    mcp: async (request) => await (await mcp.get()).handle(request),
    sameUser: (peer) => isSameUser(parts, peer, port),
  });
  const { hostname } = parts;
  // Never the port of the daemon before, unless it is asked for: another user's program may have had
  // it meanwhile, and left a service worker in the person's browser that would be given the token.
  const server = listenHttp({ hostname, port, log }, http.handle);
  cleanup.defer(() => void server.close());
  port = server.port;
  guards = newGuards();
  const discovery: Discovery = {
    pid: Deno.pid,
    sock: paths.socket,
    port,
    token,
    version: VERSION,
    protocol_version: PROTOCOL_VERSION,
  };
  parts.onListening(discovery);
  const hire = await openAgentRoutes(parts);
  cleanup.defer(() => void hire?.close());
  const listener = await listenLocal(parts);
  const socket = serveSocket(listener, {
    dispatcher,
    serveMcp: async (options, send) => await (await mcp.get()).connect(options, send),
    log,
  });
  cleanup.defer(() => void socket.close());
  cleanup.move();

  return {
    discovery,
    hire_port: hire?.port,
    reconfigure: () => void (guards = newGuards()),
    async close() {
      http.close();
      await mcp.opened?.then((host) => host.close(), () => {});
      await within(Promise.all([socket.close(), server.close(), hire?.close()]), DRAIN_MS);
      for (const path of [paths.discovery, paths.socket]) {
        await Deno.remove(path).catch(() => {});
      }
    },
  };
}

/**
 * Whether the client of a connection is this user, and not a program in a sandbox or a container: that
 * one reaches this port, under our own uid, where it shares our network.
 */
async function isSameUser(
  { findPeer, uid }: DoorParts,
  peer: Endpoint,
  port: number,
): Promise<boolean> {
  const hostname = peer.hostname.includes(":") ? "::1" : "127.0.0.1";
  const found = await findPeer(peer, { hostname, port });
  if (found === undefined) return true;
  if (found.uid !== uid) return false;
  const { isOfOwnNamespace } = await import("../os/tcp_peer.ts");
  return isOfOwnNamespace(found.inode);
}

async function openAgentRoutes(parts: DoorParts): Promise<HttpListener | undefined> {
  const { hire: options, hire_tokens, log, tasks, config, stopping } = parts;
  if (options === undefined) return undefined;
  const { openHire } = await import("../features/hire/listener.ts");
  const hire = openHire({
    ...options,
    tokens: hire_tokens,
    version: VERSION,
    log,
    engine: tasks,
    budget_usd: () => config().tasks.budget_usd,
    shared: () => config().hire.shared,
    allowed_origins: () => config().http.allowed_origins,
    stopping,
  });
  log.info("accepting tasks for hire", { hostname: hire.hostname, port: hire.port });
  return hire;
}
