/** The composition root: the one place that wires the parts of a daemon. */
import { deadline } from "@std/async";
import { join } from "@std/path";
import { builtinTools } from "../agent/tools.ts";
import { turnRunner } from "../agent/loop.ts";
import { costUsd } from "../agent/models/prices.ts";
import { ModelRegistry } from "../agent/models/registry.ts";
import { toolbelt } from "../agent/models/toolbelt.ts";
import { detectSandbox } from "../agent/sandbox.ts";
import { UnitPool } from "../agent/unit/pool.ts";
import { Bus, DAEMON_SCOPE } from "../bus/bus.ts";
import { Guards } from "../doors/guards.ts";
import { BODY_MAX, httpDoor } from "../doors/http.ts";
import { foreignPeerCheck } from "../doors/peer.ts";
import { serveSocket } from "../doors/socket.ts";
import type { HireListener, HireOptions } from "../hire/listener.ts";
import type { Egress } from "../platform/egress.ts";
import { messageOf, SvcError } from "../platform/errors.ts";
import { atomicWrite, checkPrivate, ensurePrivateDir, exists } from "../platform/files.ts";
import { takeLock } from "../platform/lock.ts";
import { type Log, LogFile } from "../platform/log.ts";
import { memoryTrimmer } from "../platform/memory.ts";
import { isInOtherNamespace, tcpPeerFinder } from "../platform/tcp_peer.ts";
import { PROJECT_POLICY, readPolicy } from "../mcp/external_policy.ts";
import type { McpHost } from "../mcp/server_host.ts";
import type { Env, HomePaths } from "../platform/paths.ts";
import { Hub } from "../session/hub.ts";
import { ulidIds } from "../session/ids.ts";
import type { TuiHost } from "../tui/host.ts";
import { Dispatcher } from "../verbs/define.ts";
import { VERBS } from "../verbs/registry.ts";
import type { Discovery, Services } from "../verbs/services.ts";
import { PROTOCOL_VERSION, VERSION } from "../version.ts";
import { readConfig } from "./config.ts";
import type { DaemonCortex } from "./cortex.ts";
import type { ToolServers } from "./tool_servers.ts";
import { keepPort, lastPort } from "./last_port.ts";
import { lazy, Opener } from "./lazy.ts";
import { listenAgain, listenHttp, listenSocket } from "./listen.ts";
import { checkPrivateFiles } from "./private_files.ts";

export interface DaemonOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  hostname: string;
  /** 0 picks a free port. */
  port: number;
  /** Also log to standard error. */
  log_stderr: boolean;
  /** How tasks are taken for hire; not at all by default. */
  hire?: HireOptions;
  /** Tokens of those who may hire; callbacks are signed with them. */
  hire_tokens: readonly string[];
}

export interface Daemon {
  readonly discovery: Discovery;
  /** Where tasks are taken for hire, if they are. */
  readonly hire_port?: number;
  readonly log: Log;
  /** Begins a graceful stop; a second call changes nothing. */
  shutdown(grace_s: number): void;
  /** Resolves when everything is stopped and recorded. */
  readonly stopped: Promise<void>;
}

/** Another daemon of this user runs. */
export class AlreadyRunning extends Error {
  override name = "AlreadyRunning";
}

function isRejected(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === "rejected";
}

/** A unit that nothing used for this long is given back. */
const UNIT_IDLE_MS = 30_000;
/** How long missions may take at least to end their sessions and remove their worktrees. */
const PARK_MS = 5_000;
/** How long answers and events that are on their way may take when the daemon stops. */
const DRAIN_MS = 1_000;

/**
 * Starts a daemon in this process.
 *
 * @throws {AlreadyRunning} when the lock is held.
 * @throws {SvcError} permission_denied when a file of ours is wider than it may be; validation when
 * daemon.toml or policy.yaml has an error.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { paths, env, uid } = options;
  const started = performance.now();
  ensurePrivateDir(paths.home);
  const { state_db_there } = checkPrivateFiles(paths);
  const lock = await takeLock(paths.lock);
  if (lock === undefined) throw new AlreadyRunning(`${paths.lock} is held by another process`);
  using cleanup = new DisposableStack();
  cleanup.defer(() => lock.release());

  let config = await readConfig(paths.config);
  let policy = await readPolicy(paths.policy);
  ensurePrivateDir(paths.log_dir);
  const log = new LogFile({ path: paths.log, level: config.log.level, stderr: options.log_stderr });
  cleanup.defer(() => log.close());

  const token = crypto.getRandomValues(new Uint8Array(32)).toHex();
  log.mask(token, ...options.hire_tokens);
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
  const hiddenFrom = (workdir: string) => [
    ...hub.hiddenFrom(workdir),
    paths.runtime_dir,
    // It names programs to start: no tool of a session writes it.
    ...(config.policy.allow_project ? [join(workdir, PROJECT_POLICY)] : []),
  ];
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
  const builtin = lazy(() =>
    builtinTools({
      units,
      sandbox,
      network: config.sandbox.network,
      own_port: () => port,
      async egress(session_id) {
        const { trust } = (await hub.get(session_id)).state;
        return trust === "trusted" ? undefined : await openEgress(true);
      },
      memory: {
        remember: async (...call) => (await loadCortex()).tools.remember(...call),
        recall: async (...call) => (await loadCortex()).tools.recall(...call),
      },
    })
  );
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
      async tools(session, signal) {
        const { policy: { servers }, allow_project } = external();
        if (servers.length === 0 && !allow_project) return builtin();
        const { session_tools } = await loadToolServers();
        return [...builtin(), ...await session_tools.for(session, signal)];
      },
      async recall(session, turn) {
        // Nothing was ever remembered, or nobody reads it.
        if (!exists(paths.state_db) || models.isBuiltin(session.state.model)) return;
        await (await loadCortex()).cortex.recallForTurn(session, turn);
      },
      max_steps: () => config.agent.max_steps,
      budget_usd: () => config.agent.budget_usd,
      cost: (id, usage) => costUsd(id, usage, config.prices).usd,
      hidden: (session) => hiddenFrom(session.state.workdir),
      new_lane_id: () => ids.next("lane"),
    }),
    retention: () => ({
      age_ms: config.journal.retention_hours * 3_600_000,
      bytes: config.journal.retention_mb * 1_000_000,
    }),
    onEvents(session, events) {
      bus.record(session.id, events);
      const whole = events.some(({ type, data }) =>
        type === "turn.completed" && data.stop_reason === "ok"
      );
      if (!whole || models.isBuiltin(session.state.model)) return;
      loadCortex().then(({ cortex }) => cortex.turnCompleted(session));
    },
    onRest() {
      loaded_cortex?.then(({ cortex }) => cortex.rest());
      trimAtRest();
    },
    onEnded(session) {
      units.closeSession(session.id);
      loaded_cortex?.then(({ cortex }) => cortex.sessionEnded(session.id));
    },
  });

  let loaded_cortex: Promise<DaemonCortex> | undefined;
  const loadCortex = (): Promise<DaemonCortex> =>
    loaded_cortex ??= import("./cortex.ts").then(({ makeCortex }) =>
      makeCortex({ paths, ids, log, hub, config: () => config, models: () => models })
    );

  const external = () => ({ policy, ...config.policy });
  let tool_servers: Promise<ToolServers> | undefined;
  const loadToolServers = (): Promise<ToolServers> =>
    tool_servers ??= import("./tool_servers.ts").then(({ makeToolServers }) =>
      makeToolServers({ env, log, policy: external(), sandbox, scope: services.scope })
    );

  const requireNotStopping = () => {
    if (stopping) throw new SvcError("shutting_down", "the daemon is stopping");
  };
  const openEgress = async (hired: boolean): Promise<Egress> => {
    const { Egress } = await import("../platform/egress.ts");
    return new Egress({
      allow_private: !hired || (options.hire?.allow_private ?? false),
      own_ports: () => [port, ...(hire === undefined ? [] : [hire.port])],
      sameUser(peer_port, own_port) {
        const find = findPeer();
        return find === undefined || find(peer_port, own_port)?.uid === uid;
      },
    });
  };
  const tasks = new Opener(async () => {
    requireNotStopping();
    const { openTasks } = await import("./tasks.ts");
    return openTasks({
      paths,
      env,
      log,
      hub,
      units,
      sandbox,
      scope: services.scope,
      config: () => config,
      models: () => models,
      deploy_targets: () => policy.deploy_targets,
      tokens: options.hire_tokens,
      openEgress,
    });
  });
  const missions = new Opener(async () => {
    requireNotStopping();
    const { openMissions } = await import("./missions.ts");
    return openMissions({
      path: paths.state_db,
      dir: paths.missions,
      log,
      hub,
      ids,
      models: () => models,
      units,
      sandbox,
      scope: services.scope,
      approval: () => config.agent.approval,
    });
  });

  let stopping = false;
  const stopped = Promise.withResolvers<void>();
  const shutdown = (grace_s: number) => {
    if (stopping) return;
    stopping = true;
    log.info("stopping", { grace_s });
    tellBus("daemon.shutdown", { grace_s });
    stop(grace_s * 1000).then(stopped.resolve, stopped.reject);
  };
  let tui_host: Promise<TuiHost> | undefined;
  const services: Services = {
    hub,
    bus,
    version: VERSION,
    home: paths.home,
    sandbox,
    scope: (workdir) => ({
      workdir,
      hidden: hiddenFrom(workdir),
      network: config.sandbox.network,
    }),
    get models() {
      return models;
    },
    tasks: () => tasks.get(),
    missions: () => missions.get(),
    cortex: async () => (await loadCortex()).cortex,
    tui: () =>
      tui_host ??= import("./tui.ts").then(({ openTuiHost }) =>
        openTuiHost(dispatcher, trimAtRest)
      ),
    tool_servers: async () => (await loadToolServers()).servers,
    open_state_db: async () => {
      const { openStateDb } = await import("../platform/state_db.ts");
      return openStateDb(paths.state_db);
    },
    config: () => config,
    verbs: () => VERBS,
    start_dir: () => config.default_workdir ?? env("HOME") ?? env("USERPROFILE") ?? "/",
    discovery: () => discovery,
    agent_port: () => hire?.port,
    uptime_ms: () => performance.now() - started,
    shutdown,
    async reload_config() {
      const changed = await readConfig(paths.config);
      checkPrivate(paths.policy, 0o600, "file");
      policy = await readPolicy(paths.policy);
      config = changed;
      (await tool_servers)?.servers.configure(external());
      models = newModels();
      guards = newGuards();
    },
  };
  const dispatcher = new Dispatcher(VERBS, services);
  let mcp: Promise<McpHost> | undefined;
  const mcpHost = () =>
    mcp ??= import("../mcp/server_host.ts").then(({ McpHost }) =>
      new McpHost(dispatcher, BODY_MAX)
    );

  const newGuards = () => new Guards({ port, token, allowed_origins: config.http.allowed_origins });
  let guards: Guards;
  const findPeer = lazy(tcpPeerFinder);
  const http = httpDoor({
    dispatcher,
    guards: () => guards,
    stopping: () => stopping,
    log,
    mcp: async (request) => await (await mcpHost()).handle(request),
    sameUser(peer_port) {
      const find = findPeer();
      if (find === undefined) return true;
      const peer = find(peer_port, port);
      if (peer?.uid !== uid) return false;
      // With the network on, a command in the sandbox reaches this port, under our own uid.
      return !config.sandbox.network || isInOtherNamespace(peer.inode) === false;
    },
  });
  const server = port === 0
    ? listenAgain(options.hostname, lastPort(paths.lock), http.handle)
    : listenHttp(options.hostname, port, http.handle);
  cleanup.defer(() => void server.shutdown());
  port = server.addr.port;
  keepPort(paths.lock, port);
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
  let hire: HireListener | undefined;
  if (options.hire !== undefined) {
    const { openHire } = await import("../hire/listener.ts");
    hire = openHire({
      ...options.hire,
      tokens: options.hire_tokens,
      version: VERSION,
      log,
      engine: () => tasks.get(),
      budget_usd: () => config.tasks.budget_usd,
      allowed_origins: () => config.http.allowed_origins,
      stopping: () => stopping,
    });
    cleanup.defer(() => void hire?.close());
    log.info("hired tasks are served", { hostname: hire.hostname, port: hire.port });
  }
  const listener = await listenSocket(paths.runtime_dir, paths.socket);
  const socket = serveSocket(listener, {
    dispatcher,
    expelForeign: expel ?? (() => {}),
    serveMcp: async (options, send) => await (await mcpHost()).connect(options, send),
    log,
  });

  const restored = hub.restore();
  await atomicWrite(paths.discovery, `${JSON.stringify(discovery)}\n`, 0o600, { durable: false });
  tellBus("daemon.listening", { pid: Deno.pid, port, version: VERSION });
  log.info("listening", { port, socket: paths.socket, version: VERSION, pid: Deno.pid });
  restored.catch((error) =>
    log.error("the sessions cannot be restored", { error: messageOf(error) })
  );
  // Queued tasks and missions go on; without a database there are none, and nothing is loaded.
  if (state_db_there) {
    restored.then(() => tasks.get()).catch((error) =>
      log.error("the task queue cannot be opened", { error: messageOf(error) })
    );
    restored.then(resumeMissions).catch((error) =>
      log.error("the missions cannot be taken up again", { error: messageOf(error) })
    );
  }
  const parts = cleanup.move();

  async function resumeMissions(): Promise<void> {
    const db = await services.open_state_db();
    try {
      const { hasUnfinishedMissions } = await import("../mission/store.ts");
      if (!hasUnfinishedMissions(db)) return;
    } finally {
      db.close();
    }
    await missions.get();
  }

  async function stop(grace_ms: number): Promise<void> {
    const until = performance.now() + grace_ms;
    // Missions are parked at once, to go on later. Tasks need sessions that run; they may use half
    // of the time, the other is the turns'.
    const park_ms = Math.max(grace_ms / 2, PARK_MS);
    const parked = missions.opened?.then((engine) => deadline(engine.close(), park_ms));
    const finished = tasks.opened?.then((engine) => engine.close(grace_ms / 2));
    for (const { reason } of (await Promise.allSettled([parked, finished])).filter(isRejected)) {
      log.error("stopping the tasks failed", { error: messageOf(reason) });
    }
    await (await loaded_cortex)?.cortex.stopLobes();
    try {
      await hub.stop(Math.max(until - performance.now(), 0));
    } catch (error) {
      log.error("stopping the sessions failed", { error: messageOf(error) });
    }
    await (await loaded_cortex)?.cortex.close();
    await tool_servers?.then(({ servers }) => servers.close());
    await tui_host?.then((host) => host.close(), () => {});
    await bus.close();
    units.close();
    http.close();
    await mcp?.then((host) => host.close(), () => {});
    await deadline(Promise.all([socket.close(), server.shutdown(), hire?.close()]), DRAIN_MS)
      .catch(() => {});
    for (const path of [paths.discovery, paths.socket]) {
      await Deno.remove(path).catch(() => {});
    }
    keepPort(paths.lock, undefined);
    log.info("stopped");
    parts.dispose();
  }

  return { discovery, hire_port: hire?.port, log, shutdown, stopped: stopped.promise };
}
