/** Opens the task engine on Restate; in a worker, also what runs the tasks. */
import { join } from "@std/path";
import { SvcError } from "../../../protocol/errors.ts";
import type { Log } from "../../../os/log.ts";
import type { Env, HomePaths } from "../../../os/paths.ts";
import { type ArtifactStore, LocalArtifacts } from "../artifacts.ts";
import type { Deliver } from "../callbacks.ts";
import type { TasksConfig } from "../config.ts";
import type { TaskEngine } from "../engine.ts";
import type { ExecutorRegistry } from "../executors/registry.ts";
import type { TaskWorkerOptions } from "../open.ts";
import { RestateTaskEngine } from "./engine.ts";
import { Ingress } from "./ingress.ts";

export interface RestateParts {
  config: TasksConfig;
  env: Env;
  log: Log;
  executors: ExecutorRegistry;
  paths: HomePaths;
  worker?: TaskWorkerOptions;
  deliver?: Deliver;
}

/** @throws {SvcError} validation for a wrong setting; conflict when the worker's port is taken */
export async function openOnRestate(parts: RestateParts): Promise<TaskEngine> {
  const { config, env, log, executors, worker, deliver } = parts;
  const key = restateKey(config, env);
  const ingress = new Ingress({ url: config.restate_url, key });
  const artifacts = await openArtifacts(parts);
  const engine = new RestateTaskEngine({ ingress, executors, artifacts, log });
  if (worker === undefined) return engine;
  const { openRestateWorker } = await import("./worker.ts");
  const { hostname, port, workers: slots, task_types, health, onStep, onListening } = worker;
  const running = await openRestateWorker({
    ingress,
    executors,
    artifacts,
    log,
    hostname,
    port,
    health,
    slots,
    task_types,
    identity_keys: config.restate_public_keys,
    onStep,
    deliver,
  });
  onListening(running.port);
  const close = engine.close.bind(engine);
  engine.close = async (grace_ms) => {
    await running.close(grace_ms);
    await close();
  };
  return engine;
}

async function openArtifacts({ config, env, paths }: RestateParts): Promise<ArtifactStore> {
  // Not paths.artifacts, which is different for each worker of this home.
  if (config.artifacts === undefined) return new LocalArtifacts(join(paths.home, "artifacts"));
  const { openSharedArtifacts } = await import("../shared_artifacts/open.ts");
  return await openSharedArtifacts(config.artifacts, { env });
}

/** Returns the bearer token for Restate. @throws {SvcError} validation when it is not set. */
export function restateKey(
  { restate_key_env: name }: Pick<TasksConfig, "restate_key_env">,
  env: Env,
): string | undefined {
  if (name === undefined) return undefined;
  const key = env(name);
  if (key) return key;
  throw new SvcError("validation", `[tasks] restate_key_env names ${name}, which is not set`, {
    hint: `set ${name} in the environment of svc`,
  });
}
