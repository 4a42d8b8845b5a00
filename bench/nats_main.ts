/**
 * One process of the task engine on NATS, over an executor that does nothing. A worker prints `ready`
 * and works until its input ends; a front door runs tasks and prints how many a second.
 *
 *   deno run … bench/nats_main.ts <nats url> worker
 *   deno run … bench/nats_main.ts <nats url> front <tasks> <at once>
 */
import type { Log } from "../src/os/log.ts";
import { LocalArtifacts } from "../src/features/tasks/artifacts.ts";
import { ExecutorRegistry } from "../src/features/tasks/executors/registry.ts";
import { openNatsEngine } from "../src/features/tasks/nats/engine.ts";

const [nats_url, role, tasks, at_once] = Deno.args;
const log: Log = { debug() {}, info() {}, warn: console.error, error: console.error };
const engine = openNatsEngine({
  config: { nats_url },
  env: () => undefined,
  executors: new ExecutorRegistry([{
    task_type: "nothing",
    run: () => Promise.resolve({ summary: "done", size: 4 }),
  }]),
  log,
  workers: role === "worker" ? 32 : 0,
  task_types: ["nothing"],
  forgets: false,
  files: new LocalArtifacts("/nonexistent"),
  worker: `bench ${Deno.pid}`,
});
await engine.status();
if (role === "worker") {
  console.log("ready");
  await Deno.stdin.readable.pipeTo(new WritableStream());
} else {
  await runTasks(Number(tasks) / 10);
  const began = performance.now();
  await runTasks(Number(tasks));
  console.log(Number(tasks) / (performance.now() - began) * 1000);
}
await engine.close();

/** Runs so many tasks, so many at once, and waits for each. */
async function runTasks(count: number): Promise<void> {
  let left = count;
  await Promise.all(Array.from({ length: Number(at_once) }, async () => {
    while (left-- > 0) {
      const { status } = await engine.run({ task_type: "nothing", query: "x" });
      if (status !== "completed") throw new Error(`a task is ${status}`);
    }
  }));
}
