/** The composition root: the one place that wires the parts of a daemon. */
import { dirname, join } from "@std/path";
import { acpName, agentProblem } from "../models/acp_entry.ts";
import type { Minds } from "../features/acp_agents/minds.ts";
import type { TurnParts } from "../agent/loop.ts";
import { costUsd } from "../models/prices.ts";
import { ModelRegistry } from "../models/registry.ts";
import type { Sandbox, SandboxScope, shownTo } from "../jail/sandbox.ts";
import type { UnitPool } from "../jail/unit/pool.ts";
import { Bus, DAEMON_SCOPE } from "../features/bus/bus.ts";
import { prepareDescriptors } from "../os/descriptors.ts";
import type { Egress } from "../net/egress.ts";
import { SvcError } from "../protocol/errors.ts";
import { atomicWrite, checkPrivate, ensurePrivateDir, exists } from "../os/files.ts";
import { takeLock } from "../os/lock.ts";
import { LogFile } from "../os/log.ts";
import type { TcpPeer } from "../os/tcp_peer.ts";
import { memoryTrimmer } from "../os/memory.ts";
import { PROJECT_POLICY, readPolicy } from "../features/tool_servers/policy.ts";
import { Hub } from "../session/hub.ts";
import { ulidIds } from "../session/ids.ts";
import { natsSecrets } from "../config/nats.ts";
import { Dispatcher } from "../verbs/define.ts";
import { openFeatures } from "../verbs/feature.ts";
import { FEATURES, VERBS } from "../features/registry.ts";
import type { Discovery } from "../protocol/discovery.ts";
import { VERSION } from "../protocol/version.ts";
import { readConfig } from "../config/read.ts";
import type { DaemonCortex } from "../features/memory/open.ts";
import type { TaskWorkerOptions } from "../features/tasks/open.ts";
import type { ToolServers } from "../features/tool_servers/open.ts";
import type { ConfigEditor } from "../config/config_editor.ts";
import type { DaemonTurns } from "./turns.ts";
import { type DoorOptions, type Doors, type FindPeer, openDoors } from "./doors.ts";
import { lazy, Opener } from "../base/lazy.ts";
import { checkPrivateFiles } from "./private_files.ts";
import { resumeAfter } from "./resume.ts";
import {
  AlreadyRunning,
  type Daemon,
  type DaemonOptions,
  type Runtime,
  type RuntimeOptions,
  type WorkerOptions,
} from "./runtime.ts";

/** Whose a connection is that is not there, or not established. */
const NOBODY: TcpPeer = { uid: -1, inode: "" };
/** A unit that nothing used for this long is given back. */
const UNIT_IDLE_MS = 30_000;
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
  using cleanup = new DisposableStack();
  cleanup.use(prepareDescriptors());
  ensurePrivateDir(paths.home);
  const { state_db_there } = checkPrivateFiles(paths);
  const lock = await takeLock(paths.lock);
  if (lock === undefined) throw new AlreadyRunning(`${paths.lock} is held by another process`);
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
    if (hub.at_rest && (pool?.at_rest ?? true)) trimMemory()();
  };
  let pool: UnitPool | undefined;
  const units = new Opener(async () => {
    const { UnitPool } = await import("../jail/unit/pool.ts");
    const { units: max } = config.sandbox;
    return pool = new UnitPool({ max, idle_ms: UNIT_IDLE_MS, onRest: trimAtRest });
  });
  let jail: Sandbox | undefined;
  let isShown: ReturnType<typeof shownTo> | undefined;
  const jailing = new Opener(async () => {
    const { detectSandbox, shownTo } = await import("../jail/sandbox.ts");
    isShown = shownTo(Deno.env.toObject());
    return detectSandbox;
  });
  const writable = () => [...hub.workdirs(), ...config.tasks.workdirs];
  const path = directoriesThere(env("PATH"));
  const detected = new Opener(async () => {
    const detectSandbox = await jailing.get();
    const { shell } = config.sandbox;
    return jail = await detectSandbox(shell, undefined, () => config.sandbox, writable);
  });
  const sandbox = () => detected.get();
  cleanup.defer(() => jail?.[Symbol.dispose]());
  const hiddenFrom = (workdir: string) => [
    ...hub.hiddenFrom(workdir),
    paths.runtime_dir,
    // It names programs to start: no tool of a session writes it.
    ...(config.policy.allow_project ? [join(workdir, PROJECT_POLICY)] : []),
  ];
  const scope = (workdir: string): SandboxScope => ({
    workdir,
    hidden: hiddenFrom(workdir),
    network: config.sandbox.network,
  });
  const newModels = () =>
    new ModelRegistry({
      models: config.models,
      env,
      default_model: config.default_model,
      limits: {
        first_byte_ms: config.agent.first_byte_timeout,
        idle_ms: config.agent.idle_timeout,
        answer_ms: config.agent.answer_timeout,
      },
      builtin: async () => {
        const { toolbelt } = await import("../models/toolbelt.ts");
        return toolbelt(() => ids.next("call"));
      },
      agentProblem: (name) => agentProblem(name, config.acp, env),
    });
  let models = newModels();
  const bus = new Bus({ dir: paths.bus, log, journals: () => hub.journals() });
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
      await (await cortex.get()).cortex.recallForTurn(session, turn);
    },
    budget_usd: () => config.agent.budget_usd,
    critic: () => config.agent.critic,
    hidden: (session) => hiddenFrom(session.state.workdir),
    new_lane_id: () => ids.next("lane"),
  };
  let opened_turns: DaemonTurns | undefined;
  cleanup.defer(() => opened_turns?.[Symbol.dispose]());
  const turns: Opener<DaemonTurns> = new Opener(() =>
    Promise.all([import("./turns.ts"), units.get()]).then(([{ makeTurns }, units]) =>
      opened_turns = makeTurns({
        ...turn_parts,
        tools: {
          units,
          sandbox,
          network: () => config.sandbox.network,
          home: env("HOME") ?? env("USERPROFILE"),
          own_port: () => discovery?.port ?? 0,
          async egress(session_id) {
            const { trust } = (await hub.get(session_id)).state;
            if (trust !== "trusted") return await openEgress(true);
            // A proxy of the person's knows ways that this program does not.
            const { goesThroughProxy } = await import("../net/proxy_env.ts");
            return goesThroughProxy(env) ? undefined : await openEgress(false);
          },
          memory: {
            remember: async (...call) => (await cortex.get()).tools.remember(...call),
            recall: async (...call) => (await cortex.get()).tools.recall(...call),
          },
          journal: async (session_id) => (await hub.get(session_id)).journal,
        },
        context: {
          isBuiltin: (model) => models.isBuiltin(model),
          sandbox,
          network: () => config.sandbox.network,
          home: paths.home,
          hidden: turn_parts.hidden,
          uid: Deno.build.os === "windows" ? undefined : uid,
          now: () => new Date(),
          log,
        },
        toolServers() {
          const { policy: { servers }, allow_project } = external();
          return servers.length > 0 || allow_project ? tool_servers.get() : undefined;
        },
        entries: () => config.models,
        model: (id) => models.resolve(id),
        max_steps: () => config.agent.max_steps,
        cost: (id, usage) => costUsd(id, usage, config.prices).usd,
      })
    )
  );
  const prefix_tools = async () => (await turns.get()).builtin.map(({ spec }) => spec);
  const minds: Opener<Minds> = new Opener(() =>
    Promise.all([import("../features/acp_agents/minds.ts"), turns.get()]).then((
      [{ Minds }, { builtin }],
    ) =>
      new Minds({
        ...turn_parts,
        entries: () => config.acp,
        env,
        log,
        version: VERSION,
        sandbox,
        scope,
        tools: builtin,
        async readText(path, scope) {
          return (await units.get()).call("read_text", { path }, scope, scope.signal);
        },
        new_call_id: () => ids.next("call"),
      })
    )
  );
  const hub: Hub = new Hub({
    home: paths.home,
    index_path: paths.index,
    journal_links: paths.journal_links,
    anchors: paths.anchors,
    version: VERSION,
    ids,
    log,
    runsAbove: (directory) => jail?.runsAbove(directory),
    isShown: (path) => isShown?.(path),
    async runTurn(session, turn) {
      await jailing.get();
      const runner = acpName(session.state.model) === undefined ? turns.get() : minds.get();
      return await (await runner).runTurn(session, turn);
    },
    async compact(session, turn) {
      const { model } = session.state;
      if (acpName(model) !== undefined) {
        throw new SvcError("validation", `${model} is an agent that keeps its own conversation`);
      }
      return await (await turns.get()).compact(session, turn);
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
      cortex.get().then(({ cortex }) => cortex.turnCompleted(session));
    },
    onRest() {
      cortex.opened?.then(({ cortex }) => cortex.rest());
      trimAtRest();
    },
    onEnded(session) {
      pool?.closeSession(session.id);
      minds.opened?.then((it) => it.sessionEnded(session.id));
      cortex.opened?.then(({ cortex }) => cortex.sessionEnded(session.id));
    },
  });

  const cortex: Opener<DaemonCortex> = new Opener(() =>
    import("../features/memory/open.ts").then(({ makeCortex }) =>
      makeCortex({ paths, ids, log, hub, config: () => config, models: () => models })
    )
  );

  const external = () => ({ policy, ...config.policy });
  const tool_servers: Opener<ToolServers> = new Opener(() =>
    import("../features/tool_servers/open.ts").then(({ makeToolServers }) =>
      makeToolServers({
        env,
        log,
        approvals: paths.project_servers,
        path,
        writable,
        policy: external(),
        sandbox,
        scope,
      })
    )
  );

  const requireNotStopping = () => {
    if (stopping) throw new SvcError("shutting_down", "the daemon is stopping");
  };
  const openEgress = async (hired: boolean): Promise<Egress> => {
    const { Egress } = await import("../net/egress.ts");
    return new Egress({
      allow_private: !hired || kind.allow_private,
      own_ports: () => [discovery?.port, doors?.hire_port].filter((it) => it !== undefined),
      async sameUser(peer, own) {
        const found = await findPeer(peer, own);
        return found === undefined || found.uid === uid;
      },
    });
  };
  const tasks = new Opener(async () => {
    requireNotStopping();
    const { openTasks } = await import("../features/tasks/open.ts");
    const { callbackSender } = await import("../features/hire/callback.ts");
    const { HireTokens } = await import("../features/hire/tokens.ts");
    const tokens = new HireTokens(options.hire_tokens);
    return openTasks({
      paths,
      env,
      log,
      hub,
      units: await units.get(),
      sandbox,
      scope,
      config: () => config,
      models: () => models,
      deploy_targets: () => policy.deploy_targets,
      path,
      writable,
      deliver: callbackSender({ tokens, egress: () => openEgress(true) }),
      signs: tokens.required,
      openEgress,
      worker: kind.tasks,
    });
  });
  const missions = new Opener(async () => {
    requireNotStopping();
    const { openMissions } = await import("../features/missions/open.ts");
    return openMissions({
      path: paths.state_db,
      dir: paths.missions,
      log,
      hub,
      ids,
      models: () => models,
      prefix_tools,
      cost: (id, usage) => costUsd(id, usage, config.prices).usd,
      units: await units.get(),
      sandbox,
      scope,
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
  const started_with = config;
  const config_editor: Opener<ConfigEditor> = new Opener(() =>
    import("../config/config_editor.ts").then(({ ConfigEditor }) =>
      new ConfigEditor({
        path: paths.config,
        started: started_with,
        config: () => config,
        reload: reload_config,
        checkModel: (id) => models.check(id),
      })
    )
  );
  const reload_config = async () => {
    const changed = await readConfig(paths.config);
    checkPrivate(paths.policy, 0o600, "file");
    policy = await readPolicy(paths.policy);
    config = changed;
    (await tool_servers.opened)?.servers.configure(external());
    models = newModels();
    doors?.reconfigure();
  };
  const open_state_db = async () => {
    const { openStateDb } = await import("../os/state_db.ts");
    return openStateDb(paths.state_db);
  };
  const host = {
    hub,
    bus,
    home: paths.home,
    sandbox,
    scope,
    get models() {
      return models;
    },
    tasks: () => tasks.get(),
    missions: () => missions.get(),
    cortex: async () => (await cortex.get()).cortex,
    prefix_tools,
    tool_servers: async () => (await tool_servers.get()).servers,
    config: () => config,
    paths,
    env,
    uid,
    trimAtRest,
    dispatcher: () => dispatcher,
    config_editor: () => config_editor.get(),
    verbs: () => VERBS,
    start_dir: () => config.default_workdir ?? env("HOME") ?? env("USERPROFILE") ?? "/",
    // Verbs are called through doors.
    discovery: () => discovery!,
    agent_port: () => doors?.hire_port,
    sidecar: kind.sidecar,
    uptime_ms: () => performance.now() - started,
    shutdown,
    reload_config,
  };
  const features = openFeatures(FEATURES, host);
  const dispatcher: Dispatcher = new Dispatcher(features.flatMap(({ bound }) => bound));
  const peerFinder = new Opener(async () => (await import("../os/tcp_peer.ts")).tcpPeerFinder());
  const findPeer: FindPeer = async (peer, own) => {
    const find = await peerFinder.get();
    return find && (find(peer, own) ?? NOBODY);
  };
  let discovery: Discovery | undefined;
  let doors: Doors | undefined;
  if (kind.doors !== undefined) {
    doors = await openDoors({
      ...kind.doors,
      paths,
      uid,
      token,
      hire_tokens: options.hire_tokens,
      dispatcher,
      hub,
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
  resumeAfter(restored, {
    log,
    tasks,
    missions,
    openStateDb: open_state_db,
    has_tasks: state_db_there || config.tasks.engine === "nats",
    has_state_db: state_db_there,
  });
  const parts = cleanup.move();

  async function stop(grace_ms: number): Promise<void> {
    const running = {
      log,
      hub,
      bus,
      units,
      missions,
      tasks,
      cortex,
      tool_servers,
      features,
      minds,
    };
    const { stopAll } = await import("./stop.ts");
    await stopAll({ ...running, doors: () => doors }, grace_ms);
    parts.dispose();
  }

  return { doors, log, shutdown, stopped: stopped.promise };
}

/** The directories of a PATH that there are. */
function directoriesThere(path = ""): string {
  const delimiter = Deno.build.os === "windows" ? ";" : ":";
  return path.split(delimiter).filter((dir) => {
    try {
      return Deno.statSync(dir).isDirectory;
    } catch {
      return false;
    }
  }).join(delimiter);
}
