/** The doors of a daemon: loopback HTTP, the local socket, and listeners of features. */
import { Guards } from "../doors/guards.ts";
import { BODY_MAX, httpDoor } from "../doors/http.ts";
import { serveSocket } from "../doors/socket.ts";
import type { McpHost } from "../doors/mcp/host.ts";
import { atomicWrite } from "../os/files.ts";
import type { LogFile } from "../os/log.ts";
import type { HomePaths } from "../os/paths.ts";
import { within } from "../base/within.ts";
import type { Dispatcher } from "../verbs/define.ts";
import type { Discovery } from "../protocol/discovery.ts";
import { PROTOCOL_VERSION, VERSION } from "../protocol/version.ts";
import type { Config } from "../config/config.ts";
import { Opener } from "../base/lazy.ts";
import type { OpenFeatures } from "../verbs/feature.ts";
import type { Listener } from "../verbs/opened.ts";
import type { FindPeer } from "./network.ts";
import { listenHttp, type ListenParts } from "./listen.ts";
import { listenLocal } from "./listen_local.ts";

export type DoorOptions = Pick<ListenParts, "hostname" | "port" | "port_store">;

interface DoorParts extends DoorOptions {
  paths: HomePaths;
  uid: number;
  dispatcher: Dispatcher;
  log: LogFile;
  config(): Config;
  features: OpenFeatures;
  /** Filled with the ports of features. */
  ports: Map<string, number>;
  stopping(): boolean;
  /** Called with the daemon's address before the first request. */
  onListening(discovery: Discovery): void;
  findPeer: FindPeer;
}

export interface Doors {
  readonly discovery: Discovery;
  readonly ports: ReadonlyMap<string, number>;
  /** Writes the discovery file and reports that the daemon listens. */
  announce(): Promise<void>;
  /** Applies the current configuration. */
  reconfigure(): void;
  /** Waits briefly for answers in progress, then closes all. */
  close(): Promise<void>;
}

/** Time for answers and events in progress when the daemon stops. */
const DRAIN_MS = 1_000;
/** When a port begins to be kept: starting a process would delay the first answers. */
const KEEP_AFTER_MS = 100;

/**
 * Opens the doors; closing them removes the discovery file.
 *
 * @throws {SvcError} conflict when an address is taken; permission_denied for a foreign socket
 */
export async function openDoors(parts: DoorParts): Promise<Doors> {
  const { paths, log, dispatcher, features, ports, config, stopping } = parts;
  const token = crypto.getRandomValues(new Uint8Array(32)).toHex();
  log.mask(token);
  using cleanup = new DisposableStack();
  let { port } = parts;
  const mcp: Opener<McpHost> = new Opener(() =>
    import("../doors/mcp/host.ts").then(({ McpHost }) => new McpHost(dispatcher, BODY_MAX))
  );
  const pages = new Opener(() =>
    import("./pages.ts").then((it) => it.openPages(paths.page_key, port))
  );
  const newGuards = () =>
    new Guards({ port, token, allowed_origins: config().http.allowed_origins });
  let guards: Guards;
  const http = httpDoor({
    dispatcher,
    guards: () => guards,
    stopping,
    log,
    mcp: async (request) => await (await mcp.get()).http.handle(request),
    pages: () => pages.get(),
    sameUser: async (peer) => (await import("./same_user.ts")).isSameUser(parts, peer, port),
  });
  const server = await listenHttp(parts, http.handle);
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
  const beside: Listener[] = [];
  cleanup.defer(() => beside.forEach((it) => void it.close()));
  for (const { name, listen } of features.all) {
    const listener = await listen?.();
    if (listener === undefined) continue;
    beside.push(listener);
    ports.set(name, listener.port);
  }
  const listener = await listenLocal(parts);
  const socket = serveSocket(listener, {
    dispatcher,
    serveMcp: async (options, send) => (await mcp.get()).connect(options, send),
    log,
  });
  cleanup.defer(() => void socket.close());
  const keeper = new Opener(() => import("./port.ts").then(({ keep }) => keep(parts, port)));
  let keeping = 0;
  cleanup.move();

  return {
    discovery,
    ports,
    async announce() {
      const text = `${JSON.stringify(discovery)}\n`;
      await atomicWrite(paths.discovery, text, 0o600, { durable: false });
      const { pid, sock, version } = discovery;
      features.each("onDaemonEvent", "daemon.listening", { pid, port, version });
      log.info("listening", { port, socket: sock, version, pid });
      keeping = setTimeout(() => keeper.get(), KEEP_AFTER_MS);
    },
    reconfigure: () => void (guards = newGuards()),
    async close() {
      http.close();
      await mcp.opened?.then(({ http }) => http.close(), () => {});
      await within(
        Promise.all([socket.close(), server.close(), ...beside.map((it) => it.close())]),
        DRAIN_MS,
      );
      for (const path of [paths.discovery, paths.socket]) {
        await Deno.remove(path).catch(() => {});
      }
      clearTimeout(keeping);
      await (await keeper.opened)?.release();
    },
  };
}
