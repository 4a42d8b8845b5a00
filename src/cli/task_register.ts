import type { TasksConfig } from "../features/tasks/config.ts";
import { RestateAdmin } from "../features/tasks/restate/admin.ts";
import { env, ownPaths } from "./environment.ts";
import type { Input } from "./spec.ts";
import type { TASK_REGISTER } from "./table/task.ts";
import { restateConfig, show } from "./restate_tasks.ts";

/** Runs `svc task register`. */
export async function registerWorkers(
  { args: { url }, flags }: Input<typeof TASK_REGISTER>,
): Promise<number> {
  await register(await restateConfig(ownPaths()), url, flags);
  return 0;
}

/** Registers the workers at an address, and prints what the server found there. */
export async function register(
  config: TasksConfig,
  url: string,
  { force, json }: { force: boolean; json: boolean },
): Promise<void> {
  const { id, services } = await new RestateAdmin(config, env).register(url, force);
  show(
    { event: "worker.registered", url, deployment: id, services },
    `registered ${url} with Restate as ${id}`,
    json,
  );
}
