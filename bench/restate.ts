/**
 * Hired tasks on a Restate server: as in `hire.ts`, with 1, 2 and 3 workers, and lists of 100,000.
 * Server, front door, balancer and workers share the machine.
 */
import { fromFileUrl, join } from "@std/path";
import { Ingress } from "../src/features/tasks/restate/ingress.ts";
import { PAGE_TASKS, QUEUE_KEY } from "../src/features/tasks/restate/api.ts";
import { emptyQueue } from "../src/features/tasks/restate/queue.ts";
import type { Log } from "../src/os/log.ts";
import { LocalArtifacts } from "../src/features/tasks/artifacts.ts";
import { RestateTaskEngine } from "../src/features/tasks/restate/engine.ts";
import { executors } from "./nothing.ts";
import { newTaskId } from "../src/features/tasks/common.ts";
import type { TaskRecord } from "../src/features/tasks/task.ts";
import { Balancer, has_balancer } from "../tests/support/balancer.ts";
import { has_restate, RestateServer } from "../tests/support/restate.ts";
import type { Figure } from "./figures.ts";
import { HireServer, load, loadFigure } from "./hire.ts";

const WORKERS = [1, 2, 3];
const ROUNDS: readonly [number, number][] = [[1, 40], [32, 400], [256, 600]];
const WARM = 50;
const LISTED = 100_000;

/** Rates, memory and the time of a page; none where no restate-server is installed. */
export async function restate(): Promise<Figure[]> {
  if (!has_restate || !has_balancer) {
    console.error("no restate-server or no caddy is installed: figures are left out");
    return [];
  }
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-restate-" });
  await Deno.chmod(dir, 0o700);
  const workers: { child: Deno.ChildProcess; port: number }[] = [];
  try {
    await using server = await RestateServer.start(join(dir, "restate"));
    await using balancers = new AsyncDisposableStack();
    const front = await HireServer.start(dir, server.url);
    const figures: Figure[] = [];
    for (const count of WORKERS) {
      workers.push(await startWorker(server.url));
      const balancer = balancers.use(await Balancer.start(workers.map(({ port }) => port)));
      await register(server.admin_url, balancer.url);
      await load(front.port, 32, WARM);
      for (const [connections, tasks] of ROUNDS) {
        const name = `hired tasks on Restate, ${count} ${
          count === 1 ? "worker" : "workers"
        }, ${connections} ${connections === 1 ? "connection" : "connections"}`;
        const done = await load(front.port, connections, tasks);
        figures.push(loadFigure(`restate_${count}_${connections}`, name, done));
      }
    }
    figures.push({
      id: "restate_rss",
      name: `RSS of the front door after ${WORKERS.length * 1_090} tasks on Restate`,
      unit: "MB",
      value: await front.rssMb(),
    });
    figures.push(await listing(server));
    await front.close();
    return figures;
  } finally {
    for (const { child } of workers) {
      await child.stdin.close();
      await child.status;
    }
    await Deno.remove(dir, { recursive: true });
  }
}

/** Puts many ended tasks into the store as its services would, and reads pages of 100. */
async function listing({ url, admin_url }: RestateServer): Promise<Figure> {
  const ingress = new Ingress({ url });
  const entry = (
    seq: number,
  ) => ({ seq, turn: "o", bytes: 0, ended: "completed", ...task() } as const);
  for (let page = 0; page * PAGE_TASKS < LISTED; page++) {
    const entries = Array.from({ length: PAGE_TASKS }, (_, n) => entry(page * PAGE_TASKS + n));
    await ingress.call("svc-page", String(page), "put", { entries });
  }
  const queue = JSON.stringify({ ...emptyQueue(), next_seq: LISTED });
  const response = await fetch(`${admin_url}/services/svc-queue/state`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      object_key: QUEUE_KEY,
      new_state: { queue: [...new TextEncoder().encode(queue)] },
    }),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the state was not set: ${response.status}`);
  const log: Log = { debug() {}, info() {}, warn: console.error, error: console.error };
  const artifacts = new LocalArtifacts("/nonexistent");
  const engine = new RestateTaskEngine({ ingress, executors: executors(), artifacts, log });
  const times: number[] = [];
  let cursor: string | undefined;
  for (let n = 0; n < 50; n++) {
    const began = performance.now();
    const { tasks, next_cursor } = await engine.list({ limit: PAGE_TASKS, cursor });
    if (tasks.length !== PAGE_TASKS) throw new Error(`a page has ${tasks.length} tasks`);
    times.push(performance.now() - began);
    cursor = next_cursor;
  }
  times.sort((a, b) => a - b);
  return {
    id: "restate_list",
    name: `a page of 100 of ${LISTED} tasks on Restate`,
    unit: "ms",
    value: times[25],
    note: `median of 50, worst ${times[49].toFixed(1)}`,
  };
}

function task(): { id: string; record: TaskRecord } {
  const id = newTaskId();
  const at = new Date().toISOString();
  const record = {
    id,
    status: "completed",
    task_type: "nothing",
    subject: "x",
    created_at: at,
  } as const;
  return { id, record: { ...record, completed_at: at, summary: "done", size: 4, attempts: 1 } };
}

async function register(admin_url: string, uri: string): Promise<void> {
  const response = await fetch(`${admin_url}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri }),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the workers were not registered: ${response.status}`);
}

/** Starts a worker and waits until it listens. */
async function startWorker(url: string): Promise<{ child: Deno.ChildProcess; port: number }> {
  const [main, config] = ["restate_main.ts", "../deno.json"]
    .map((name) => fromFileUrl(new URL(name, import.meta.url)));
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-check", "--permission-set", `--config=${config}`, main, url],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  await reader.cancel();
  return { child, port: Number(value) };
}
