import { startWorker } from "../daemon/compose.ts";
import { readConfig } from "../config/read.ts";
import { AlreadyRunning, type Runtime, type RuntimeOptions } from "../daemon/runtime.ts";
import { SvcError } from "../protocol/errors.ts";
import { SECTIONS } from "../features/registry.ts";
import { TASKS } from "../features/tasks/config.ts";
import { forHire } from "../features/hire/feature.ts";
import { takeTasks } from "../features/tasks/feature.ts";
import { workerPaths } from "../os/paths.ts";
import type { WorkerStep } from "../features/tasks/nats/worker.ts";
import type { Input } from "./spec.ts";
import { env, ownPaths, parseTokens } from "./environment.ts";
import { stopOnSignals, surviveDefects } from "./foreground.ts";
import type { TASK_WORKER } from "./table/task.ts";
import { visible, visibleJson } from "../base/visible.ts";

/** Maximum number of workers in one home; each has its own directory there. */
const WORKERS_OF_HOME = 64;

/** Runs `svc task worker`: runs tasks from NATS until it is stopped. */
export async function runWorker({ flags }: Input<typeof TASK_WORKER>): Promise<number> {
  const paths = ownPaths();
  const config = await readConfig(paths.config, SECTIONS);
  const { engine, nats_url, workers: configured } = config.of(TASKS);
  if (engine !== "nats") {
    throw new SvcError("validation", "no task queue on NATS is configured", {
      hint: `set [tasks] engine = "nats" and nats_url in ${paths.config}`,
    });
  }
  const task_types = flags.caps;
  const workers = flags.workers ?? Math.max(configured, 1);
  const as_json = flags.json;
  const worker = await start({
    paths,
    env,
    uid: Deno.uid() ?? 0,
    log_stderr: true,
    allow_private: flags["allow-private"],
    given: [
      forHire({ tokens: parseTokens(env("SVC_SERVE_TOKENS")) }),
      takeTasks({ workers, task_types, onStep: (step) => showStep(step, as_json) }),
    ],
  });
  surviveDefects(worker);
  stopOnSignals(worker, false);
  show(
    { event: "worker.started", pid: Deno.pid, nats_url, task_types, workers },
    `running ${
      task_types.join(", ")
    } tasks from ${nats_url}, up to ${workers} queued tasks at once`,
    as_json,
  );
  await worker.stopped;
  show({ event: "worker.stopped", pid: Deno.pid }, "stopped", as_json);
  return 0;
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

function show(event: Record<string, unknown>, text: string, as_json: boolean): void {
  console.log(as_json ? visibleJson(JSON.stringify(event)) : visible(text));
}
