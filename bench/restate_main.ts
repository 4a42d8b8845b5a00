/**
 * A worker of tasks on Restate, over an executor that does nothing. Prints its port, works until its
 * input ends.
 *
 *   deno run … bench/restate_main.ts <url of the ingress>
 */
import type { Log } from "../src/os/log.ts";
import { LocalArtifacts } from "../src/features/tasks/artifacts.ts";
import { Ingress } from "../src/features/tasks/restate/ingress.ts";
import { openRestateWorker } from "../src/features/tasks/restate/worker.ts";
import { executors } from "./nothing.ts";

const [url] = Deno.args;
const log: Log = { debug() {}, info() {}, warn: console.error, error: console.error };
const worker = await openRestateWorker({
  ingress: new Ingress({ url }),
  executors: executors(),
  artifacts: new LocalArtifacts("/nonexistent"),
  log,
  hostname: "127.0.0.1",
  port: 0,
  slots: 32,
  task_types: ["nothing"],
  identity_keys: [],
  deliver: () => Promise.resolve(),
});
console.log(worker.port);
await Deno.stdin.readable.pipeTo(new WritableStream());
await worker.close();
