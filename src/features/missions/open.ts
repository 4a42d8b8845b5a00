/** The missions of a daemon, with the parts of it that they need. Loaded at the first mission. */
import type { ToolSpec, Usage } from "../../models/model.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import type { Sandbox, SandboxScope } from "../../jail/sandbox.ts";
import type { UnitPool } from "../../jail/unit/pool.ts";
import { MissionEngine } from "./engine.ts";
import { GitWorkspace, missionBranch } from "./git_workspace.ts";
import { MissionStore } from "./store.ts";
import { checkRunner } from "./check_runner.ts";
import type { Log } from "../../os/log.ts";
import { openStateDb } from "../../os/state_db.ts";
import type { Approval } from "../../protocol/events.ts";
import type { Hub } from "../../session/hub.ts";
import type { Ids } from "../../session/ids.ts";
import { endSession, endWorkSessions, WorkSession } from "../../session/work_session.ts";

export interface MissionWiring {
  /** Of the database. */
  path: string;
  /** Where the files of missions are. */
  dir: string;
  log: Log;
  hub: Hub;
  ids: Ids;
  models(): ModelRegistry;
  /** The tools that every model call begins with. */
  prefix_tools(): Promise<readonly ToolSpec[]>;
  /** What a model call cost, in USD. */
  cost(model_id: string, usage: Usage): number;
  units: UnitPool;
  sandbox(): Promise<Sandbox>;
  /** What is done in a workdir may see. */
  scope(workdir: string): SandboxScope;
  approval(): Approval;
}

/** Workers wait for the warmed prefix, but not for a provider that is slow. */
const PREWARM_MS = 30_000;

/** What the sessions of a mission's units are called. */
const TITLE = /^mission m-[0-9A-Z]{26} [sd]?\d+$/;

/**
 * Opens the daemon's missions and takes up those that are unfinished; sessions that a crash has left
 * over are ended first.
 *
 * @throws {SvcError} as {@linkcode openStateDb}.
 */
export async function openMissions(wiring: MissionWiring): Promise<MissionEngine> {
  const { hub, log, models, ids, dir, path } = wiring;
  await endWorkSessions(wiring, TITLE);
  const engine = new MissionEngine({
    store: new MissionStore(await openStateDb(path)),
    log,
    dir,
    new_lane_id: () => ids.next("lane"),
    session: (id) => hub.get(id),
    startParent: (options) => hub.create(options),
    endParent: (session_id) => endSession(wiring, session_id, "completed"),
    startSession: (options) => WorkSession.start(wiring, options),
    openChecks: (workdir, env) => checkRunner(wiring, workdir, env),
    branchFor: async (workdir, mission_id) =>
      await missionBranch(workdir, mission_id, await wiring.sandbox(), AbortSignal.timeout(60_000)),
    gitWorkspace: async ({ id, workdir }, { base }) =>
      new GitWorkspace({ workdir, mission_id: id, base, sandbox: await wiring.sandbox(), log }),
    async prewarm(model_id, stop) {
      if (!models().answersRequests(model_id)) return undefined;
      const signal = AbortSignal.any([stop, AbortSignal.timeout(PREWARM_MS)]);
      const { warmPrefix } = await import("../../agent/prefix.ts");
      const model = await models().resolve(model_id);
      const usage = await warmPrefix(model, await wiring.prefix_tools(), signal);
      return { ...usage, usd: wiring.cost(model_id, usage) };
    },
    checkModel: (id) => models().check(id),
    defaultModel: () => models().defaultId(),
    defaultApproval: wiring.approval,
  });
  await engine.resumeAll();
  return engine;
}

/** The services of the verbs of missions. */
export interface MissionServices {
  /** The missions, opened on first use. @throws {SvcError} when the database cannot be used. */
  missions(): Promise<MissionEngine>;
}
