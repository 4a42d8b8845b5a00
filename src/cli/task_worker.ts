import { startWorker } from "../daemon/compose.ts";
import { AlreadyRunning, type Runtime, type RuntimeOptions } from "../daemon/runtime.ts";
import { SvcError } from "../protocol/errors.ts";
import type { TasksConfig } from "../features/tasks/config.ts";
import { forHire } from "../features/hire/feature.ts";
import { takeTasks } from "../features/tasks/feature.ts";
import { workerPaths } from "../os/paths.ts";
import type { WorkerStep } from "../features/tasks/restate/runs.ts";
import { urlHost } from "../base/url_host.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { env, ownPaths, parseTokens } from "./environment.ts";
import { stopOnSignals, surviveDefects } from "./foreground.ts";
import { listenAddress, LOOPBACK } from "./hire_flags.ts";
import { restateConfig, show } from "./restate_tasks.ts";
import type { TASK_WORKER } from "./table/task.ts";

/** Maximum number of workers in one home; each has its own directory there. */
const WORKERS_OF_HOME = 64;

type Flags = Input<typeof TASK_WORKER>["flags"];

/** Runs `svc task worker`: runs tasks from Restate until it is stopped. */
export async function runWorker({ flags }: Input<typeof TASK_WORKER>): Promise<number> {
  const paths = ownPaths();
  const config = await restateConfig(paths);
  const { hostname, port } = listenAddress("--listen", flags.listen);
  requireGuarded(hostname, port, config, flags);
  const task_types = flags.caps;
  const workers = flags.workers ?? Math.max(config.workers, 1);
  const as_json = flags.json;
  const listening = Promise.withResolvers<number>();
  const worker = await start({
    paths,
    env,
    uid: Deno.uid() ?? 0,
    log_stderr: true,
    allow_private: flags["allow-private"],
    given: [
      forHire({ tokens: parseTokens(env("SVC_SERVE_TOKENS")) }),
      takeTasks({
        hostname,
        port,
        health: flags.health === undefined ? undefined : listenAddress("--health", flags.health),
        onListening: listening.resolve,
        onFailure: listening.reject,
        workers,
        task_types,
        onStep: (step) => showStep(step, as_json),
      }),
    ],
  });
  surviveDefects(worker);
  stopOnSignals(worker, false);
  try {
    const url = `http://${urlHost(hostname)}:${await listening.promise}`;
    show(
      { event: "worker.started", pid: Deno.pid, url, task_types, workers },
      `running ${task_types.join(", ")} tasks at ${url}, up to ${workers} queued tasks at once`,
      as_json,
    );
    if (flags.register) {
      const { register } = await import("./task_register.ts");
      await register(config, url, flags);
    }
    await worker.stopped;
  } catch (error) {
    worker.shutdown(0);
    await worker.stopped;
    throw error;
  }
  show({ event: "worker.stopped", pid: Deno.pid }, "stopped", as_json);
  return 0;
}

/** @throws {UsageError} for a worker that anyone in the network could give work */
function requireGuarded(hostname: string, port: number, config: TasksConfig, flags: Flags): void {
  if (LOOPBACK.test(hostname) || config.restate_public_keys.length > 0 || flags.insecure) return;
  throw new UsageError(
    `anyone who can reach ${hostname}:${port} could run tasks here`,
    "set [tasks] restate_public_keys, or pass --insecure",
  );
}

/** Starts the worker in the first free directory of its home. */
async function start(options: RuntimeOptions): Promise<Runtime> {
  for (let n = 1; n <= WORKERS_OF_HOME; n++) {
    try {
      return await startWorker({ ...options, paths: workerPaths(options.paths, n) });
    } catch (error) {
      if (!(error instanceof AlreadyRunning)) throw error;
    }
  }
  throw new SvcError(
    "conflict",
    `${WORKERS_OF_HOME} workers are already running in ${options.paths.home}`,
    {
      hint: "give each worker more tasks with --workers, or set SVC_HOME to another directory",
    },
  );
}

function showStep({ event, task_id, task_type, attempt }: WorkerStep, as_json: boolean): void {
  const text = `${task_id} ${task_type}, attempt ${attempt}: ${event}`;
  show({ event: `task.${event}`, task_id, task_type, attempt }, text, as_json);
}
