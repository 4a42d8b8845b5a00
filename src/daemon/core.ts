/** What a daemon has without its features: its sessions, their turns, and what features are given. */
import { lazy, Opener } from "../base/lazy.ts";
import { FEATURES, VERBS } from "../features/registry.ts";
import type { LogFile } from "../os/log.ts";
import { memoryTrimmer } from "../os/memory.ts";
import type { Discovery } from "../protocol/discovery.ts";
import { SvcError } from "../protocol/errors.ts";
import { VERSION } from "../protocol/version.ts";
import { Hub } from "../session/hub.ts";
import type { Ids } from "../session/ids.ts";
import type { Dispatcher } from "../verbs/define.ts";
import { givenOf, migrationsOf, type OpenFeatures } from "../verbs/feature.ts";
import type { Host } from "../verbs/host.ts";
import type { Current } from "./current.ts";
import { Jail } from "./jail.ts";
import { egressOpener, type FindPeer, peerFinder } from "./network.ts";
import type { RuntimeOptions } from "./runtime.ts";
import type { DaemonTurns } from "./turns.ts";

export interface CoreParts {
  options: RuntimeOptions;
  sidecar: boolean;
  has_state_db: boolean;
  current: Current;
  log: LogFile;
  ids: Ids;
  features(): OpenFeatures;
  dispatcher(): Dispatcher;
  discovery(): Discovery | undefined;
  ports(): ReadonlyMap<string, number>;
  stopping(): boolean;
  shutdown(grace_s: number): void;
}

export interface Core extends Omit<Host, "use">, Disposable {
  readonly jail: Jail;
  readonly findPeer: FindPeer;
}

/** Makes it; nothing is opened yet. */
export function makeCore(parts: CoreParts): Core {
  const { options, current, log, ids, features, discovery, ports, stopping } = parts;
  const { paths, env, uid, given, allow_private } = options;
  const { config, models } = current;
  const started = performance.now();
  const findPeer = peerFinder();
  const trimMemory = lazy(memoryTrimmer);
  const trimAtRest = () => {
    if (hub.at_rest && jail.at_rest) trimMemory()();
  };
  const jail = new Jail({
    config,
    hub: () => hub,
    features,
    runtime_dir: paths.runtime_dir,
    commands: paths.commands,
    home: env("HOME"),
    log,
    onRest: trimAtRest,
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
      const { model } = session.state;
      const agents = features().agents.find((it) => it.answers(model)) ?? await turns.get();
      return await agents.runTurn(session, turn);
    },
    async compact(session, turn) {
      const { model } = session.state;
      if (features().agents.some((it) => it.answers(model))) {
        throw new SvcError("validation", `${model} is an agent that keeps its own conversation`);
      }
      return await (await turns.get()).compact(session, turn);
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
    path: directoriesThere(env("PATH")),
    sidecar: parts.sidecar,
    has_state_db: parts.has_state_db,
    given: (option) => givenOf(given, option),
    config,
    config_editor: current.editor,
    reload_config: current.reload,
    models,
    cost: current.cost,
    async openStateDb() {
      const { openStateDb } = await import("../os/state_db.ts");
      return openStateDb(paths.state_db, await migrationsOf(FEATURES));
    },
    units: jail.units,
    sandbox: jail.sandbox,
    scope: jail.scope,
    space: jail.space,
    writable: jail.writable,
    openEgress: egressOpener({
      uid,
      findPeer,
      allow_private,
      ports: () => [discovery()?.port, ...ports().values()].filter((it) => it !== undefined),
    }),
    turn_parts: {
      async recall(session, turn) {
        await Promise.all(features().each("beforeTurn", session, turn));
      },
      budget_usd: () => config().agent.budget_usd,
      critic: () => config().agent.critic,
      hidden: ({ state }) => jail.hidden(state.workdir),
      new_lane_id: () => ids.next("lane"),
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
