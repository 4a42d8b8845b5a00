/** Opens the missions of a daemon. Loaded at the first mission. */
import type { Host } from "../../verbs/host.ts";
import { MissionEngine } from "./engine.ts";
import { GitWorkspace, missionBranch } from "./git_workspace.ts";
import { MissionStore } from "./store.ts";
import { checkRunner } from "./check_runner.ts";
import { endSession, endWorkSessions, WorkSession } from "../../session/work_session.ts";

/** Workers wait for the warmed prefix, but not for a slow provider. */
const PREWARM_MS = 30_000;

/**
 * Opens the daemon's missions and resumes unfinished ones, after ending sessions that a crash left
 * over.
 *
 * @throws {SvcError} if the state database cannot be used.
 */
export async function openMissions(host: Host): Promise<MissionEngine> {
  const { hub, log, models, ids, paths, config, sandbox, cost, builtin_tools } = host;
  const checks = { ...host, units: await host.units() };
  const store = new MissionStore(await host.openStateDb());
  await endWorkSessions(host, "m", leftSessions(store));
  const engine = new MissionEngine({
    store,
    log,
    dir: paths.missions,
    new_lane_id: () => ids.next("lane"),
    session: (id) => hub.get(id),
    startParent: (options) => hub.create(options),
    endParent: (session_id) => endSession(host, session_id, "completed"),
    watchWrites: host.watchWrites,
    startSession: (options) => WorkSession.start(host, options),
    adoptSession: (session_id, options) => WorkSession.adopt(host, session_id, options),
    openChecks: (workdir, env) => checkRunner(checks, workdir, env),
    branchFor: async (workdir, mission_id) =>
      await missionBranch(workdir, mission_id, await sandbox(), AbortSignal.timeout(60_000)),
    gitWorkspace: async ({ id, workdir }, { base }) =>
      new GitWorkspace({ workdir, mission_id: id, base, sandbox: await sandbox(), log }),
    async prewarm(model_id, stop) {
      if (!models().answersRequests(model_id)) return undefined;
      const signal = AbortSignal.any([stop, AbortSignal.timeout(PREWARM_MS)]);
      const { warmPrefix } = await import("../../agent/prefix.ts");
      const model = await models().resolve(model_id);
      const prefix = (await builtin_tools()).map(({ spec }) => spec);
      const usage = await warmPrefix(model, prefix, signal);
      return { ...usage, usd: cost(model_id, usage) };
    },
    checkModel: (id) => models().check(id),
    defaultModel: () => models().defaultId(),
    defaultApproval: () => config().agent.approval,
  });
  await engine.resumeAll();
  return engine;
}

/** The sessions of tasks that an earlier daemon left at work. */
function leftSessions(store: MissionStore): Set<string> {
  const tasks = store.unfinished().filter(({ status }) => status === "running")
    .flatMap(({ id }) => [...store.tasks(id).values()]);
  return new Set(
    tasks.flatMap(({ status, session_id }) =>
      status === "running" && session_id !== undefined ? [session_id] : []
    ),
  );
}

export interface MissionServices {
  /** The missions, opened on first use. @throws {SvcError} if the database cannot be used. */
  missions(): Promise<MissionEngine>;
}
