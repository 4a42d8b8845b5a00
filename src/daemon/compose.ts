/** The composition root: the one place that wires the parts of a daemon. */
import { deadline } from "@std/async";
import { builtinTools } from "../agent/tools.ts";
import { turnRunner } from "../agent/loop.ts";
import { costUsd } from "../agent/models/prices.ts";
import { ModelRegistry } from "../agent/models/registry.ts";
import { toolbelt } from "../agent/models/toolbelt.ts";
import { detectSandbox } from "../agent/sandbox.ts";
import { UnitPool } from "../agent/unit/pool.ts";
import { Bus, DAEMON_SCOPE } from "../bus/bus.ts";
import { Guards } from "../doors/guards.ts";
import { httpDoor } from "../doors/http.ts";
import { foreignPeerCheck } from "../doors/peer.ts";
import { serveSocket } from "../doors/socket.ts";
import { messageOf, SvcError } from "../platform/errors.ts";
import { atomicWrite, checkPrivate, ensurePrivateDir } from "../platform/files.ts";
import { type Log, LogFile } from "../platform/log.ts";
import { memoryTrimmer } from "../platform/memory.ts";
import { stateDbFiles } from "../platform/state_db.ts";
import { isInOtherNamespace, tcpPeerFinder } from "../platform/tcp_peer.ts";
import type { Env, HomePaths } from "../platform/paths.ts";
import { Hub } from "../session/hub.ts";
import { ulidIds } from "../session/ids.ts";
import type { TaskEngine } from "../tasks/engine.ts";
import { Dispatcher } from "../verbs/define.ts";
import { VERBS } from "../verbs/registry.ts";
import type { Discovery, Services } from "../verbs/services.ts";
import { PROTOCOL_VERSION, VERSION } from "../version.ts";
import { readConfig } from "./config.ts";
import { listenSocket } from "./listen.ts";
import { takeLock } from "./lock.ts";

export interface DaemonOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  hostname: string;
  /** 0 picks a free port. */
  port: number;
  /** Also log to standard error. */
  log_stderr: boolean;
}

export interface Daemon {
  readonly discovery: Discovery;
  readonly log: Log;
  /** Begins a graceful stop; a second call changes nothing. */
  shutdown(grace_s: number): void;
  /** Resolves when everything is stopped and recorded. */
  readonly stopped: Promise<void>;
}

/** Binds the loopback listener. @throws {SvcError} conflict when the port is taken. */
function listenHttp(hostname: string, port: number, handle: Deno.ServeHandler<Deno.NetAddr>) {
  try {
    return Deno.serve({ hostname, port, onListen: () => {} }, handle);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    throw new SvcError("conflict", `port ${port} of ${hostname} is in use by another program`, {
      hint: "choose another with --port, or leave it out to get a free one",
      cause,
    });
  }
}

/** Made at its first use: what a turn needs is not built before the first one. */
function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Another daemon of this user runs. */
export class AlreadyRunning extends Error {
  override name = "AlreadyRunning";
}

/** A unit that nothing used for this long is given back. */
const UNIT_IDLE_MS = 30_000;
/** How long answers and events that are on their way may take when the daemon stops. */
const DRAIN_MS = 1_000;

/**
 * Starts a daemon in this process.
 *
 * @throws {AlreadyRunning} when the lock is held.
 * @throws {SvcError} permission_denied when a file of ours is wider than it may be; validation when
 * daemon.toml has an error.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { paths, env, uid } = options;
  const started = performance.now();
  ensurePrivateDir(paths.home);
  for (const path of [paths.discovery, paths.index, paths.config, paths.log]) {
    checkPrivate(path, 0o600, "file");
  }
  const [queue_there] = stateDbFiles(paths.state_db).map((path) =>
    checkPrivate(path, 0o600, "file")
  );
  for (const path of [paths.journal_links, paths.log_dir, paths.bus]) {
    checkPrivate(path, 0o700, "dir");
  }
  const lock = await takeLock(paths.lock);
  if (lock === undefined) throw new AlreadyRunning(`${paths.lock} is held by another process`);
  using cleanup = new DisposableStack();
  cleanup.defer(() => lock.release());

  let config = await readConfig(paths.config);
  ensurePrivateDir(paths.log_dir);
  const log = new LogFile({ path: paths.log, level: config.log.level, stderr: options.log_stderr });
  cleanup.defer(() => log.close());

  const token = crypto.getRandomValues(new Uint8Array(32)).toHex();
  log.mask(token);
  const ids = ulidIds();
  const trimMemory = lazy(memoryTrimmer);
  const trimAtRest = () => {
    if (hub.at_rest && units.size === 0) trimMemory()();
  };
  const units: UnitPool = new UnitPool({
    max: config.sandbox.units,
    idle_ms: UNIT_IDLE_MS,
    onEmpty: () => trimAtRest(),
  });
  const sandbox = lazy(() => detectSandbox(config.sandbox.shell));
  let port = options.port;
  const newModels = () =>
    new ModelRegistry({
      models: config.models,
      env,
      default_model: config.default_model,
      builtin: toolbelt(() => ids.next("call")),
    });
  let models = newModels();
  const bus = new Bus({ dir: paths.bus, log });
  const tellBus = (type: string, data: Record<string, unknown>) =>
    bus.record(DAEMON_SCOPE, [{
      type,
      at: new Date().toISOString(),
      data_json: JSON.stringify(data),
    }]);
  const hub: Hub = new Hub({
    home: paths.home,
    index_path: paths.index,
    journal_links: paths.journal_links,
    anchors: paths.anchors,
    version: VERSION,
    ids,
    log,
    runTurn: turnRunner({
      model: (id) => models.resolve(id),
      tools: lazy(() =>
        builtinTools({
          units,
          sandbox,
          network: config.sandbox.network,
          own_port: () => port,
        })
      ),
      max_steps: () => config.agent.max_steps,
      budget_usd: () => config.agent.budget_usd,
      cost: (id, usage) => costUsd(id, usage, config.prices).usd,
      hidden: (session) => [...hub.hiddenFrom(session), paths.runtime_dir],
      new_lane_id: () => ids.next("lane"),
    }),
    retention: () => ({
      age_ms: config.journal.retention_hours * 3_600_000,
      bytes: config.journal.retention_mb * 1_000_000,
    }),
    onEvents: (session, events) => bus.record(session.id, events),
    onRest: trimAtRest,
    onEnded: (session) => units.closeSession(session.id),
  });

  let engine: Promise<TaskEngine> | undefined;
  const tasks = (): Promise<TaskEngine> => {
    if (stopping && engine === undefined) {
      return Promise.reject(new SvcError("shutting_down", "the daemon is stopping"));
    }
    const { workers } = config.tasks;
    return engine ??= import("./tasks.ts")
      .then(({ openTasks }) =>
        openTasks({ path: paths.state_db, workers, log, hub, models: () => models })
      )
      .catch((error) => {
        engine = undefined;
        throw error;
      });
  };

  let stopping = false;
  const stopped = Promise.withResolvers<void>();
  const shutdown = (grace_s: number) => {
    if (stopping) return;
    stopping = true;
    log.info("stopping", { grace_s });
    tellBus("daemon.shutdown", { grace_s });
    stop(grace_s * 1000).then(stopped.resolve, stopped.reject);
  };
  const services: Services = {
    hub,
    bus,
    version: VERSION,
    get models() {
      return models;
    },
    tasks,
    open_state_db: async () => {
      const { openStateDb } = await import("../platform/state_db.ts");
      return openStateDb(paths.state_db);
    },
    config: () => config,
    discovery: () => discovery,
    uptime_ms: () => performance.now() - started,
    shutdown,
    async reload_config() {
      config = await readConfig(paths.config);
      models = newModels();
      guards = newGuards();
    },
  };
  const dispatcher = new Dispatcher(VERBS, services);

  const newGuards = () => new Guards({ port, token, allowed_origins: config.http.allowed_origins });
  let guards: Guards;
  const findPeer = lazy(tcpPeerFinder);
  const http = httpDoor({
    dispatcher,
    guards: () => guards,
    stopping: () => stopping,
    log,
    sameUser(peer_port) {
      const find = findPeer();
      if (find === undefined) return true;
      const peer = find(peer_port, port);
      if (peer?.uid !== uid) return false;
      // With the network on, a command in the sandbox reaches this port, under our own uid.
      return !config.sandbox.network || isInOtherNamespace(peer.inode) === false;
    },
  });
  const server = listenHttp(options.hostname, port, http.handle);
  cleanup.defer(() => void server.shutdown());
  port = server.addr.port;
  guards = newGuards();
  const discovery: Discovery = {
    pid: Deno.pid,
    sock: paths.socket,
    port,
    token,
    version: VERSION,
    protocol_version: PROTOCOL_VERSION,
  };
  const expel = foreignPeerCheck(paths.socket, uid, (peer_uid) => {
    log.warn("shut down a connection of another user", { peer_uid });
  });
  if (expel === undefined) {
    log.warn("peer credentials cannot be read; the socket's mode protects it");
  }
  const listener = await listenSocket(paths.runtime_dir, paths.socket);
  const socket = serveSocket(listener, dispatcher, expel ?? (() => {}), log);

  const restored = hub.restore();
  await atomicWrite(paths.discovery, `${JSON.stringify(discovery)}\n`, 0o600, { durable: false });
  tellBus("daemon.listening", { pid: Deno.pid, port, version: VERSION });
  log.info("listening", { port, socket: paths.socket, version: VERSION, pid: Deno.pid });
  restored.catch((error) =>
    log.error("the sessions cannot be restored", { error: messageOf(error) })
  );
  // Queued tasks go on; without a database there are none, and nothing of the engine is loaded.
  if (queue_there) {
    restored.then(tasks).catch((error) =>
      log.error("the task queue cannot be opened", { error: messageOf(error) })
    );
  }
  const parts = cleanup.move();

  async function stop(grace_ms: number): Promise<void> {
    const until = performance.now() + grace_ms;
    try {
      // Its tasks need sessions that run; they may use half of the time, the other is the turns'.
      await (await engine)?.close(grace_ms / 2);
    } catch (error) {
      log.error("stopping the tasks failed", { error: messageOf(error) });
    }
    try {
      await hub.stop(Math.max(until - performance.now(), 0));
    } catch (error) {
      log.error("stopping the sessions failed", { error: messageOf(error) });
    }
    await bus.close();
    units.close();
    http.close();
    await deadline(Promise.all([socket.close(), server.shutdown()]), DRAIN_MS).catch(() => {});
    for (const path of [paths.discovery, paths.socket]) {
      await Deno.remove(path).catch(() => {});
    }
    log.info("stopped");
    parts.dispose();
  }

  return { discovery, log, shutdown, stopped: stopped.promise };
}
