/** `svc task worker`: runs tasks that front doors on this or other machines have put on NATS. */
import { startWorker } from "../daemon/compose.ts";
import { readConfig } from "../config/read.ts";
import { AlreadyRunning, type Runtime, type WorkerOptions } from "../daemon/runtime.ts";
import { SvcError } from "../protocol/errors.ts";
import { workerPaths } from "../os/paths.ts";
import { WORKERS_MAX } from "../config/config.ts";
import type { WorkerStep } from "../features/tasks/nats/worker.ts";
import { type Flags, UsageError } from "./args.ts";
import { env, ownPaths } from "./environment.ts";
import { stopOnSignals, surviveDefects } from "./foreground.ts";
import { parseCaps, parseTokens } from "./hire_flags.ts";
import { visible, visibleJson } from "../base/visible.ts";

/** Workers of one home: each has a directory of its own in it. */
const WORKERS_OF_HOME = 64;

/** Runs until it is told to stop. */
export async function runWorker({ boolean, string }: Flags): Promise<number> {
  const paths = ownPaths();
  const { tasks: { engine, nats_url, workers: configured } } = await readConfig(paths.config);
  if (engine !== "nats") {
    throw new SvcError(
      "validation",
      "tasks are kept by the daemon of this machine, which runs them",
      {
        hint: `set [tasks] engine = "nats" and nats_url in ${paths.config}`,
      },
    );
  }
  const task_types = parseCaps(string.caps);
  const workers = countOf(string.workers) ?? Math.max(configured, 1);
  const as_json = boolean.json ?? false;
  const worker = await start({
    paths,
    env,
    uid: Deno.uid() ?? 0,
    log_stderr: true,
    hire_tokens: parseTokens(env("SVC_SERVE_TOKENS")),
    allow_private: boolean["allow-private"] ?? false,
    tasks: { workers, task_types, onStep: (step) => showStep(step, as_json) },
  });
  surviveDefects(worker);
  stopOnSignals(worker, false);
  show(
    { event: "worker.started", pid: Deno.pid, nats_url, task_types, workers },
    `runs ${task_types.join(", ")} tasks of ${nats_url}, ${workers} of the queue at once`,
    as_json,
  );
  await worker.stopped;
  show({ event: "worker.stopped", pid: Deno.pid }, "stopped", as_json);
  return 0;
}

/** Starts it in the first of its home's directories that no other worker has. */
async function start(options: WorkerOptions): Promise<Runtime> {
  for (let n = 1; n <= WORKERS_OF_HOME; n++) {
    try {
      return await startWorker({ ...options, paths: workerPaths(options.paths, n) });
    } catch (error) {
      if (!(error instanceof AlreadyRunning)) throw error;
    }
  }
  throw new SvcError(
    "conflict",
    `${WORKERS_OF_HOME} workers run in ${options.paths.home} already`,
    {
      hint: "let each do more with --workers, or set SVC_HOME for others",
    },
  );
}

function countOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= WORKERS_MAX) return count;
  throw new UsageError(`--workers takes a number from 1 to ${WORKERS_MAX}, got "${text}"`);
}

function showStep({ event, task_id, task_type, attempt }: WorkerStep, as_json: boolean): void {
  const text = `${task_id} ${task_type}, attempt ${attempt}: ${event}`;
  show({ event: `task.${event}`, task_id, task_type, attempt }, text, as_json);
}

function show(event: Record<string, unknown>, text: string, as_json: boolean): void {
  console.log(as_json ? visibleJson(JSON.stringify(event)) : visible(text));
}
