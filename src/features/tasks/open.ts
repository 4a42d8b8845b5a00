/** Opens the daemon's task engine and its executors. Loaded at the first task. */
import { join } from "@std/path";
import { sha256Hex } from "../../base/sha256.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { ensurePrivateDir, readDirIfAny } from "../../os/files.ts";
import { personsPrograms } from "../../os/own_programs.ts";
import { isWithin } from "../../os/paths.ts";
import { removeTree } from "../../os/remove_tree.ts";
import { checkWorkdir } from "../../session/workdir.ts";
import { endWorkSessions, WorkSession } from "../../session/work_session.ts";
import { LocalArtifacts } from "./artifacts.ts";
import type { DeployTarget } from "../tool_servers/deploy_target.ts";
import type { Deliver } from "./callbacks.ts";
import type { TaskEngine } from "./engine.ts";
import type { CodeParts } from "./executors/code/executor.ts";
import { readWork } from "./executors/code/work.ts";
import { lazyExecutor } from "./executors/lazy.ts";
import { ExecutorRegistry } from "./executors/registry.ts";
import type { ResearchParts } from "./executors/research/executor.ts";
import { SEARCH } from "../web_search/config.ts";
import { RetryableError } from "./task.ts";
import { TASKS } from "./config.ts";
import { openTaskEngine, recoverTasks } from "./local_engine.ts";
import type { WorkerStep } from "./restate/runs.ts";
import { type CheckParts, checkRunner } from "../missions/check_runner.ts";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../verbs/host.ts";

interface TaskNeeds {
  deploy_targets(): readonly DeployTarget[];
  reporter: Reporter;
  /** Set if this process only runs tasks. */
  worker?: TaskWorkerOptions;
}

type TaskParts = Omit<Host, "units"> & CheckParts & TaskNeeds;

export interface Reporter {
  deliver: Deliver;
  /** Whether tokens exist that can sign callbacks. */
  signs: boolean;
}

export interface TaskWorkerOptions {
  hostname: string;
  port: number;
  /** Where health is told over HTTP/1.1. */
  health?: { hostname: string; port: number };
  /** Called when it listens. */
  onListening(port: number): void;
  /** Called when it cannot take tasks. */
  onFailure(error: unknown): void;
  /** Queued tasks at once. */
  workers: number;
  task_types: readonly string[];
  /** Called when a task starts or ends in this process. */
  onStep(step: WorkerStep): void;
}

/**
 * Opens the task engine, and ends and removes what a crash left.
 * @throws {SvcError} when the state database cannot be used
 */
export async function openTasks(host: Host, needs: TaskNeeds): Promise<TaskEngine> {
  const { restate_key_env } = host.config().of(TASKS);
  const key = restate_key_env === undefined ? undefined : host.env(restate_key_env);
  if (key) host.log.mask(key);
  const parts = { ...host, ...needs, units: await host.units() };
  const { engine } = parts.config().of(TASKS);
  if (engine === "local") return await openHere(parts);
  await endWorkSessions(parts, "t");
  const executors = await executorsOf(parts);
  const { openOnRestate } = await import("./restate/open.ts");
  const { reporter, worker, env, log, config, paths } = parts;
  return await openOnRestate({
    config: config().of(TASKS),
    env,
    log,
    executors,
    paths,
    worker,
    // A process without tokens cannot sign callbacks, and leaves them to others.
    deliver: reporter.signs ? reporter.deliver : undefined,
  });
}

async function openHere(parts: TaskParts): Promise<TaskEngine> {
  const { paths, log, config, reporter } = parts;
  const db = await parts.openStateDb();
  const left = recoverTasks(db, parts);
  const sessions = new Set(left.map(({ work }) => readWork(work)?.session_id ?? ""));
  parts.hub.hold(sessions);
  await endWorkSessions(parts, "t", sessions);
  return openTaskEngine(db, {
    executors: await executorsOf(parts, new Set(left.map(({ id }) => id))),
    log,
    workers: config().of(TASKS).workers,
    artifacts: new LocalArtifacts(paths.artifacts),
    deliver: reporter.deliver,
  });
}

/** @param going_on the tasks whose directories are kept */
async function executorsOf(
  parts: TaskParts,
  going_on: ReadonlySet<string> = new Set(),
): Promise<ExecutorRegistry> {
  const { env } = parts;
  const places = await TaskPlaces.open(parts, going_on);
  const egress = parts.openEgress;
  return new ExecutorRegistry([
    lazyExecutor("research", async () => {
      const { researchExecutor } = await import("./executors/research/executor.ts");
      return researchExecutor(researchParts(parts, egress));
    }),
    lazyExecutor("browser", async () => {
      const { browserExecutor } = await import("./executors/browser/executor.ts");
      return browserExecutor({
        env,
        egress,
        writable: parts.writable,
        scratch: () => places.scratch(),
      });
    }),
    lazyExecutor("deploy", async () => {
      const { deployExecutor } = await import("./executors/deploy.ts");
      const { deployLocks } = await import("./executors/deploy_lock.ts");
      return deployExecutor({
        env,
        locks: deployLocks(env),
        targets: parts.deploy_targets,
        find: personsPrograms(env, parts.path, parts.writable),
      });
    }),
    lazyExecutor("code", async () => {
      const { codeExecutor } = await import("./executors/code/executor.ts");
      return codeExecutor(codeParts(parts, egress, places));
    }),
  ]);
}

function researchParts(parts: TaskParts, egress: ResearchParts["egress"]): ResearchParts {
  const { env, config, models, cost } = parts;
  return {
    egress,
    search() {
      const chosen = config().of(SEARCH);
      if (chosen === undefined) return undefined;
      return async (query, count, signal) => {
        const { search, SearchUnavailable } = await import("../web_search/search.ts");
        const options = { config: chosen, env, query, count, signal };
        const hits = await search(options).catch((error) => {
          if (!(error instanceof SearchUnavailable)) throw error;
          throw new RetryableError(error.message, { cause: error });
        });
        return hits.map(({ url }) => url);
      };
    },
    async model(id = models().defaultId()) {
      return models().answersRequests(id) ? await models().resolve(id) : undefined;
    },
    checkModel: (id) => models().checkForRequests(id),
    cost,
    budget_usd: () => config().of(TASKS).budget_usd,
    workdir: (path, hired) => taskWorkdir(parts, path, hired),
    hidden: (workdir) => parts.scope(workdir).hidden,
  };
}

function codeParts(parts: TaskParts, egress: CodeParts["egress"], places: TaskPlaces): CodeParts {
  const { env, config, models, sandbox } = parts;
  return {
    env,
    egress,
    sandbox,
    startSession: (options) => WorkSession.start(parts, options),
    adoptSession: (session_id, options) => WorkSession.adopt(parts, session_id, options),
    openChecks: (workdir) => checkRunner(parts, workdir),
    workdir: (path, hired) => taskWorkdir(parts, path, hired),
    hidden: (workdir) => parts.scope(workdir).hidden,
    makePlace: (task_id) => places.make(task_id),
    placeOf: (task_id) => places.of(task_id),
    model(id = models().defaultId()) {
      models().check(id);
      return { id, builtin: models().isBuiltin(id) };
    },
    budget_usd: () => config().of(TASKS).budget_usd,
  };
}

/** @returns the real path. @throws {SvcError} when a task may not work there. */
async function taskWorkdir(
  { paths, config }: TaskParts,
  path: string,
  hired: boolean,
): Promise<string> {
  if (hired) await requireOffered(path, config().of(TASKS).workdirs);
  return await checkWorkdir(path, paths.home);
}

/** @throws {SvcError} permission_denied, the same whether or not the directory exists */
async function requireOffered(path: string, offered: readonly string[]): Promise<void> {
  const real = await Deno.realPath(path).catch(() => undefined);
  for (const dir of offered) {
    const real_dir = await Deno.realPath(dir).catch(() => undefined);
    if (real !== undefined && real_dir !== undefined && isWithin(real, real_dir)) return;
  }
  throw new SvcError("permission_denied", `${path} is not available for hire`, {
    hint: "the operator can add directories to [tasks] workdirs in daemon.toml",
  });
}

/** Directories for single tasks, removed with the task or at the next start. */
class TaskPlaces {
  readonly #dir: string;
  readonly #artifacts: string;

  private constructor(dir: string, artifacts: string) {
    this.#dir = dir;
    this.#artifacts = artifacts;
  }

  static async open(
    { paths, env, log }: TaskParts,
    going_on: ReadonlySet<string>,
  ): Promise<TaskPlaces> {
    const name = `svc-tasks-${(await sha256Hex(paths.artifacts)).slice(0, 12)}`;
    const dir = join(env("TMPDIR") ?? "/tmp", name);
    const remove = (path: string) =>
      removeTree(path).catch((error) =>
        log.warn("cannot remove the files of old tasks", { path, error: messageOf(error) })
      );
    if (going_on.size === 0) await remove(dir);
    else {
      for (const { name } of readDirIfAny(dir)) {
        if (!going_on.has(name)) await remove(join(dir, name));
      }
    }
    return new TaskPlaces(dir, paths.artifacts);
  }

  scratch(): string {
    ensurePrivateDir(this.#dir);
    return this.#dir;
  }

  /** Returns the path of a task's directory. */
  of(task_id: string): string {
    return join(this.#dir, task_id);
  }

  async make(task_id: string): Promise<{ workdir: string; journal_root: string }> {
    // No session can see svc's home.
    const workdir = join(this.scratch(), task_id);
    const journal_root = join(this.#artifacts, task_id);
    for (const path of [this.#artifacts, journal_root]) ensurePrivateDir(path);
    await removeTree(workdir);
    ensurePrivateDir(workdir);
    return { workdir, journal_root };
  }
}

export interface TaskServices {
  /** Opens the engine on first use. @throws {SvcError} when its database cannot be used. */
  tasks(): Promise<TaskEngine>;
  config(): Config;
}
