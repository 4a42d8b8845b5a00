/** A daemon without its features: its sessions, their turns, and the host of features. */
import { lazy, Opener } from "../base/lazy.ts";
import { FEATURES, VERBS } from "../features/registry.ts";
import { realHome } from "../os/files.ts";
import type { LogFile } from "../os/log.ts";
import { memoryTrimmer } from "../os/memory.ts";
import type { Discovery } from "../protocol/discovery.ts";
import { SvcError } from "../protocol/errors.ts";
import { VERSION } from "../protocol/version.ts";
import { Hub } from "../session/hub.ts";
import { type Ids, isTaskTitle, isWorkTitle } from "../session/ids.ts";
import type { Dispatcher } from "../verbs/define.ts";
import { givenOf, migrationsOf, type OpenFeatures } from "../verbs/feature.ts";
import type { Host } from "../verbs/host.ts";
import type { Current } from "./current.ts";
import { Jail } from "./jail.ts";
import type { LoginPath } from "./login_path.ts";
import { egressOpener, type FindPeer, peerFinder } from "./network.ts";
import type { RuntimeOptions } from "./runtime.ts";
import type { DaemonTurns } from "./turns.ts";

interface CoreParts {
  options: RuntimeOptions;
  sidecar: boolean;
  has_state_db: boolean;
  current: Current;
  log: LogFile;
  login: LoginPath;
  ids: Ids;
  features(): OpenFeatures;
  dispatcher(): Dispatcher;
  discovery(): Discovery | undefined;
  ports(): ReadonlyMap<string, number>;
  stopping(): boolean;
  shutdown(grace_s: number): void;
}

interface Core extends Omit<Host, "use">, Disposable {
  readonly jail: Jail;
  readonly findPeer: FindPeer;
}

/** Creates the core; nothing is opened yet. */
export function makeCore(parts: CoreParts): Core {
  const { options, current, log, ids, features, discovery, ports, stopping } = parts;
  const { paths, uid, given, allow_private } = options;
  const { env } = parts.login;
  const { config, models } = current;
  const started = performance.now();
  const findPeer = peerFinder();
  const trimMemory = lazy(memoryTrimmer);
  const trimAtRest = () => {
    if (hub.at_rest && jail.at_rest) trimMemory()();
  };
  const own_ports = () => [discovery()?.port, ...ports().values()].filter((it) => it !== undefined);
  const jail = new Jail({
    config,
    hub: () => hub,
    features,
    svc_home: paths.home,
    runtime_dir: paths.runtime_dir,
    spaces: paths.spaces,
    home: realHome(env),
    ports: own_ports,
    login: parts.login,
    log,
    onRest: trimAtRest,
  });
  const background = new Opener(async () => {
    const { BackgroundCommands } = await import("../agent/background.ts");
    return new BackgroundCommands(log);
  });
  const turns = new Opener<DaemonTurns>(async () => {
    const { openTurns } = await import("./turns.ts");
    return await openTurns(core, features());
  });
  const hub: Hub = new Hub({
    home: paths.home,
    index_path: paths.index,
    journal_links: paths.journal_links,
    anchors: paths.anchors,
    version: VERSION,
    ids,
    log,
    runsAbove: (directory) => jail.runsAbove(directory),
    isShown: (path) => jail.isShown(path),
    async runTurn(session, turn) {
      await jail.load();
      const { model, turn: { run } = {} } = session.state;
      const agent = run === undefined && features().agents.find((it) => it.answers(model));
      const agents = agent || await turns.get();
      try {
        return await agents.runTurn(session, turn);
      } finally {
        await Promise.all(features().each("afterTurn", session, turn));
      }
    },
    goesOn({ state }, after) {
      const { model, title } = state;
      // Agents keep their own conversations.
      if (features().agents.some((it) => it.answers(model))) return false;
      const { continue: mode } = config().agent;
      // A mission or a task has its turns go on, and nobody is asked. The attempts of a task bound
      // how often.
      if (isWorkTitle(title)) return mode !== "never" && (after !== "asked" || isTaskTitle(title));
      if (after === "asked") return mode !== "never";
      return mode === "always" || (mode === undefined && after !== "crash");
    },
    parks({ state }) {
      if (features().agents.some((it) => it.answers(state.model))) return undefined;
      const { continue: mode, park_after: after_ms } = config().agent;
      return mode === "never" ? undefined : {
        after_ms,
        asks: mode === "ask" && !isWorkTitle(state.title),
      };
    },
    async compact(session, turn) {
      const { model } = session.state;
      if (features().agents.some((it) => it.answers(model))) {
        throw new SvcError("validation", `${model} is an agent that keeps its own conversation`);
      }
      return await (await turns.get()).compact(session, turn);
    },
    async endBackground(session) {
      await (await background.opened)?.endSession(session.id);
      await Promise.all(features().each("beforeEnd", session));
    },
    retention: () => ({
      age_ms: config().journal.retention_hours * 3_600_000,
      bytes: config().journal.retention_mb * 1_000_000,
    }),
    onEvents: (session, events) => void features().each("onEvents", session, events),
    onRest() {
      features().each("onRest");
      trimAtRest();
    },
    onEnded({ id }) {
      jail.sessionEnded(id);
      features().each("onEnded", id);
    },
    onMoved(id) {
      jail.sessionMoved(id);
      features().each("onMoved", id);
    },
    async onDeleted(id) {
      await jail.sessionDeleted(id);
      await Promise.all(features().each("onDeleted", id));
    },
  });
  const core: Core = {
    paths,
    env,
    uid,
    log,
    ids,
    hub,
    jail,
    findPeer,
    path: () => directoriesThere(env("PATH")),
    command_path: () => parts.login.state,
    sidecar: parts.sidecar,
    has_state_db: parts.has_state_db,
    given: (option) => givenOf(given, option),
    config,
    config_editor: current.editor,
    reload_config: current.reload,
    models,
    catalogue: current.catalogue,
    cost: current.cost,
    priced: current.priced,
    async openStateDb() {
      const { openStateDb } = await import("../os/state_db.ts");
      return openStateDb(paths.state_db, await migrationsOf(FEATURES));
    },
    units: jail.units,
    sandbox: jail.sandbox,
    unconfined: jail.unconfined,
    scope: jail.scope,
    checkout: jail.checkout,
    background,
    space: jail.space,
    granted: jail.granted,
    networkOf: jail.networkOf,
    asked: jail.asked,
    opened: jail.opened,
    wayOut: jail.wayOut,
    writable: jail.writable,
    async watchWrites(session) {
      const ends = await Promise.all(features().each("watchWrites", session));
      return async () => void await Promise.all(ends.map((end) => end()));
    },
    openEgress: egressOpener({
      uid,
      findPeer,
      allow_private,
      ports: own_ports,
    }),
    turn_parts: {
      async recall(session, turn) {
        await Promise.all(features().each("beforeTurn", session, turn));
      },
      budget_usd: () => config().agent.budget_usd,
      critic: () => config().agent.critic,
      hidden: ({ state }) => jail.hidden(state.workdir),
      added: ({ state }) => jail.added(state),
      findDirectory: (session) => hub.findDirectory(session),
      async beforeWrite(session, turn) {
        await Promise.all(features().each("beforeWrite", session, turn));
      },
      new_lane_id: () => ids.next("lane"),
      judge: async (...call) => await features().each("judge", ...call)[0],
      beforeCall: async (...call) => await features().each("beforeCall", ...call)[0],
      afterCall: async (...call) => await features().each("afterCall", ...call)[0],
    },
    builtin_tools: async () => (await turns.get()).builtin,
    trimAtRest,
    dispatcher: parts.dispatcher,
    verbs: () => VERBS,
    discovery,
    ports,
    uptime_ms: () => performance.now() - started,
    stopping,
    requireRunning() {
      if (stopping()) throw new SvcError("shutting_down", "the daemon is stopping");
    },
    shutdown: parts.shutdown,
    [Symbol.dispose]: () => jail[Symbol.dispose](),
  };
  return core;
}

/** The existing directories of a PATH. */
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
