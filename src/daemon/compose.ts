/** The composition root: the one place that wires the parts of a daemon. */
import { deadline } from "@std/async";
import { dirname, join } from "@std/path";
import { acpName, agentProblem } from "../acp/entry.ts";
import type { Minds } from "../acp/minds.ts";
import type { TurnParts } from "../agent/loop.ts";
import { costUsd } from "../agent/models/prices.ts";
import { ModelRegistry } from "../agent/models/registry.ts";
import { toolbelt } from "../agent/models/toolbelt.ts";
import { detectSandbox } from "../agent/sandbox.ts";
import { UnitPool } from "../agent/unit/pool.ts";
import { Bus, DAEMON_SCOPE } from "../bus/bus.ts";
import type { Egress } from "../platform/egress.ts";
import { messageOf, SvcError } from "../platform/errors.ts";
import { atomicWrite, checkPrivate, ensurePrivateDir, exists } from "../platform/files.ts";
import { takeLock } from "../platform/lock.ts";
import { type Log, LogFile } from "../platform/log.ts";
import { memoryTrimmer } from "../platform/memory.ts";
import { tcpPeerFinder } from "../platform/tcp_peer.ts";
import { PROJECT_POLICY, readPolicy } from "../mcp/external_policy.ts";
import type { Env, HomePaths } from "../platform/paths.ts";
import { Hub } from "../session/hub.ts";
import { ulidIds } from "../session/ids.ts";
import { natsSecrets } from "../tasks/nats/config.ts";
import type { TuiHost } from "../tui/host.ts";
import { Dispatcher } from "../verbs/define.ts";
import { VERBS } from "../verbs/registry.ts";
import type { Discovery, Services } from "../verbs/services.ts";
import { VERSION } from "../version.ts";
import { readConfig } from "./config.ts";
import type { ConfigEditor } from "./config_editor.ts";
import type { DaemonCortex } from "./cortex.ts";
import type { DaemonService } from "./service.ts";
import type { TaskWorkerOptions } from "./tasks.ts";
import type { ToolServers } from "./tool_servers.ts";
import type { DaemonTurns } from "./turns.ts";
import { type DoorOptions, type Doors, openDoors } from "./doors.ts";
import { lazy, Opener } from "./lazy.ts";
import { checkPrivateFiles } from "./private_files.ts";

/** What every process that runs sessions and tasks is told. */
export interface RuntimeOptions {
  paths: HomePaths;
  env: Env;
  uid: number;
  /** Also log to standard error. */
  log_stderr: boolean;
  /** Tokens of those who may hire; callbacks are signed with them. */
  hire_tokens: readonly string[];
  /** Told once, when it begins to stop. */
  onStopping?(grace_s: number): void;
}

export interface DaemonOptions extends RuntimeOptions, DoorOptions {
  /** Whether a desktop shell brought it, as its child. */
  sidecar: boolean;
}

/** A process that only runs the tasks of other machines' front doors. */
export interface WorkerOptions extends RuntimeOptions {
  tasks: TaskWorkerOptions;
  /** Whether hired tasks may reach loopback, link-local and private addresses. */
  allow_private: boolean;
}

export interface Runtime {
  readonly log: Log;
  /** Begins a graceful stop; a second call changes nothing. */
  shutdown(grace_s: number): void;
  /** Resolves when everything is stopped and recorded. */
  readonly stopped: Promise<void>;
}

export interface Daemon extends Runtime {
  readonly discovery: Discovery;
  /** Where tasks are taken for hire, if they are. */
  readonly hire_port?: number;
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

/**
 * Starts a daemon in this process.
 *
 * @throws {AlreadyRunning} when the lock is held.
 * @throws {SvcError} permission_denied when a file of ours is wider than it may be; validation when
 * daemon.toml or policy.yaml has an error.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const { hostname, port, hire, sidecar } = options;
  const allow_private = hire?.allow_private ?? false;
  const { doors, ...runtime } = await compose(options, {
    allow_private,
    sidecar,
    doors: { hostname, port, hire },
  });
  const { discovery, hire_port } = doors!;
  return { ...runtime, discovery, hire_port };
}

/** Starts a worker in this process; throws as {@linkcode startDaemon}. */
export async function startWorker(options: WorkerOptions): Promise<Runtime> {
  const { tasks, allow_private, paths } = options;
  const dir = dirname(paths.lock);
  for (const own of [paths.home, dirname(dir), dir]) ensurePrivateDir(own);
  return await compose(options, { allow_private, sidecar: false, tasks });
}

/** What tells a daemon from a worker. */
interface Kind {
  sidecar: boolean;
  allow_private: boolean;
  /** Where it listens; a worker does not. */
  doors?: DoorOptions;
  /** How it takes tasks, where that is all it does. */
  tasks?: TaskWorkerOptions;
}

async function compose(
  options: RuntimeOptions,
  kind: Kind,
): Promise<Runtime & { doors?: Doors }> {
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
  log.mask(token, ...options.hire_tokens, ...natsSecrets(config.tasks, env));
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
  const newModels = () =>
    new ModelRegistry({
      models: config.models,
      env,
      default_model: config.default_model,
      builtin: toolbelt(() => ids.next("call")),
      agentProblem: (name) => agentProblem(name, config.acp, env),
    });
  let models = newModels();
  const bus = new Bus({ dir: paths.bus, log });
  const tellBus = (type: string, data: Record<string, unknown>) =>
    bus.record(DAEMON_SCOPE, [{
      type,
      at: new Date().toISOString(),
      data_json: JSON.stringify(data),
    }]);
  const turn_parts: TurnParts = {
    async recall(session, turn) {
      // Nothing was ever remembered, or nobody reads it.
      if (!exists(paths.state_db) || models.isBuiltin(session.state.model)) return;
      await (await loadCortex()).cortex.recallForTurn(session, turn);
    },
    budget_usd: () => config.agent.budget_usd,
    hidden: (session) => hiddenFrom(session.state.workdir),
    new_lane_id: () => ids.next("lane"),
  };
  let turns: Promise<DaemonTurns> | undefined;
  const loadTurns = (): Promise<DaemonTurns> =>
    turns ??= import("./turns.ts").then(({ makeTurns }) =>
      makeTurns({
        ...turn_parts,
        tools: {
          units,
          sandbox,
          network: config.sandbox.network,
          own_port: () => discovery?.port ?? 0,
          async egress(session_id) {
            const { trust } = (await hub.get(session_id)).state;
            return trust === "trusted" ? undefined : await openEgress(true);
          },
          memory: {
            remember: async (...call) => (await loadCortex()).tools.remember(...call),
            recall: async (...call) => (await loadCortex()).tools.recall(...call),
          },
        },
        toolServers() {
          const { policy: { servers }, allow_project } = external();
          return servers.length > 0 || allow_project ? loadToolServers() : undefined;
        },
        model: (id) => models.resolve(id),
        max_steps: () => config.agent.max_steps,
        cost: (id, usage) => costUsd(id, usage, config.prices).usd,
      })
    );
  let minds: Promise<Minds> | undefined;
  const loadMinds = (): Promise<Minds> =>
    minds ??= Promise.all([import("../acp/minds.ts"), loadTurns()]).then(([{ Minds }, turns]) =>
      new Minds({
        ...turn_parts,
        entries: () => config.acp,
        env,
        log,
        version: VERSION,
        sandbox,
        scope: services.scope,
        tools: turns.builtin,
        readText: (path, scope) => units.call("read_text", { path }, scope, scope.signal),
        new_call_id: () => ids.next("call"),
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
    async runTurn(session, turn) {
      const runner = acpName(session.state.model) === undefined ? loadTurns() : loadMinds();
      return await (await runner).runTurn(session, turn);
    },
    retention: () => ({
      age_ms: config.journal.retention_hours * 3_600_000,
      bytes: config.journal.retention_mb * 1_000_000,
    }),
    onEvents(session, events) {
      bus.record(session.id, events);
      const whole = events.some(({ type, data }) =>
        type === "turn.completed" && data.stop_reason === "ok"
      );
      if (!whole || !models.answersRequests(session.state.model)) return;
      loadCortex().then(({ cortex }) => cortex.turnCompleted(session));
    },
    onRest() {
      loaded_cortex?.then(({ cortex }) => cortex.rest());
      trimAtRest();
    },
    onEnded(session) {
      units.closeSession(session.id);
      minds?.then((it) => it.sessionEnded(session.id));
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
      allow_private: !hired || kind.allow_private,
      own_ports: () => [discovery?.port, doors?.hire_port].filter((it) => it !== undefined),
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
      worker: kind.tasks,
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
    options.onStopping?.(grace_s);
    log.info("stopping", { grace_s });
    tellBus("daemon.shutdown", { grace_s });
    stop(grace_s * 1000).then(stopped.resolve, stopped.reject);
  };
  let tui_host: Promise<TuiHost> | undefined;
  let config_editor: Promise<ConfigEditor> | undefined;
  let service: Promise<DaemonService> | undefined;
  const started_with = config;
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
    paths,
    config_editor: () =>
      config_editor ??= import("./config_editor.ts").then(({ ConfigEditor }) =>
        new ConfigEditor({
          path: paths.config,
          started: started_with,
          config: () => config,
          reload: services.reload_config,
          checkModel: (id) => models.check(id),
        })
      ),
    service: () =>
      service ??= import("./service.ts").then(({ daemonService }) =>
        daemonService({
          paths,
          env,
          uid,
          hires: () => doors?.hire_port !== undefined,
          shutdown,
        })
      ),
    verbs: () => VERBS,
    start_dir: () => config.default_workdir ?? env("HOME") ?? env("USERPROFILE") ?? "/",
    // Verbs are called through doors.
    discovery: () => discovery!,
    agent_port: () => doors?.hire_port,
    sidecar: kind.sidecar,
    uptime_ms: () => performance.now() - started,
    shutdown,
    async reload_config() {
      const changed = await readConfig(paths.config);
      checkPrivate(paths.policy, 0o600, "file");
      policy = await readPolicy(paths.policy);
      config = changed;
      (await tool_servers)?.servers.configure(external());
      models = newModels();
      doors?.reconfigure();
    },
  };
  const dispatcher = new Dispatcher(VERBS, services);
  const findPeer = lazy(tcpPeerFinder);
  let discovery: Discovery | undefined;
  let doors: Doors | undefined;
  if (kind.doors !== undefined) {
    doors = await openDoors({
      ...kind.doors,
      paths,
      lock,
      uid,
      token,
      hire_tokens: options.hire_tokens,
      dispatcher,
      log,
      config: () => config,
      tasks: () => tasks.get(),
      stopping: () => stopping,
      onListening: (listening) => void (discovery = listening),
      findPeer,
    });
  }

  const restored = hub.restore();
  if (doors !== undefined) {
    const { port } = doors.discovery;
    const text = `${JSON.stringify(doors.discovery)}\n`;
    await atomicWrite(paths.discovery, text, 0o600, { durable: false });
    tellBus("daemon.listening", { pid: Deno.pid, port, version: VERSION });
    log.info("listening", { port, socket: paths.socket, version: VERSION, pid: Deno.pid });
  }
  restored.catch((error) =>
    log.error("the sessions cannot be restored", { error: messageOf(error) })
  );
  // Queued tasks and missions go on; without a database there are none, and nothing is loaded.
  if (state_db_there || config.tasks.engine === "nats") {
    restored.then(() => tasks.get()).catch((error) =>
      log.error("the task queue cannot be opened", { error: messageOf(error) })
    );
  }
  if (state_db_there) {
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
    await minds?.then((it) => it.close());
    await bus.close();
    units.close();
    await doors?.close();
    log.info("stopped");
    parts.dispose();
  }

  return { doors, log, shutdown, stopped: stopped.promise };
}
