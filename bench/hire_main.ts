/**
 * Surface B in a process of its own, over an executor that does nothing: what is measured is what
 * hiring costs. Prints its port, serves until its input ends.
 *
 *   deno run … bench/hire_main.ts <directory> [<url of Restate's ingress>]
 */
import { join } from "@std/path";
import { Drafts } from "../src/features/hire/a2a/drafts.ts";
import { openHire } from "../src/features/hire/listener.ts";
import { LocalArtifacts } from "../src/features/tasks/artifacts.ts";
import type { TaskEngine } from "../src/features/tasks/engine.ts";
import { openTaskEngine } from "../src/features/tasks/local_engine.ts";
import { RestateTaskEngine } from "../src/features/tasks/restate/engine.ts";
import { Ingress } from "../src/features/tasks/restate/ingress.ts";
import type { Log } from "../src/os/log.ts";
import { openTestDb } from "../tests/support/state_db.ts";
import { executors } from "./nothing.ts";

const [dir, restate_url] = Deno.args;
const log: Log = { debug() {}, info() {}, warn: console.error, error: console.error };
const artifacts = new LocalArtifacts(join(dir, "artifacts"));
const engine: TaskEngine = restate_url === undefined
  ? openTaskEngine(await openTestDb(join(dir, "state.db")), {
    executors: executors(),
    log,
    workers: 2,
    artifacts,
    deliver: () => Promise.resolve(),
  })
  : new RestateTaskEngine({
    ingress: new Ingress({ url: restate_url }),
    executors: executors(),
    log,
    artifacts,
  });
const shared = () => false;
const drafts = new Drafts(() => openTestDb(join(dir, "state.db")), shared);
const hire = openHire({
  hostname: "127.0.0.1",
  port: 0,
  timeout_ms: 600_000,
  caps: ["nothing"],
  allow_private: false,
  tokens: ["token"],
  version: "bench",
  log,
  engine: () => Promise.resolve(engine),
  drafts,
  budget_usd: () => 5,
  shared,
  quota: () => ({ max_queued: 1000 }),
  allowed_origins: () => [],
  stopping: () => false,
});
console.log(hire.port);
await Deno.stdin.readable.pipeTo(new WritableStream());
await hire.close();
await drafts.close();
await engine.close();
