/** A worker in its own process, whose executor never ends: `worker_main.ts <nats url>`. */
import type { Log } from "../../../../os/log.ts";
import { LocalArtifacts } from "../../artifacts.ts";
import { ExecutorRegistry } from "../../executors/registry.ts";
import { openNatsEngine } from "../engine.ts";

const [nats_url] = Deno.args;
const log: Log = { debug() {}, info() {}, warn: console.error, error: console.error };
const patient = { task_type: "patient", run: () => new Promise<never>(() => {}) };
openNatsEngine({
  config: { nats_url },
  env: () => undefined,
  executors: new ExecutorRegistry([patient]),
  log,
  workers: 1,
  task_types: ["patient"],
  forgets: false,
  files: new LocalArtifacts("/nonexistent"),
  worker: "doomed",
});
