/**
 * Checks that concurrent workers share one warmed prompt prefix (product.md, Limits: at least 80 %):
 *
 *   deno task cache-check [--model <provider>/<model>] [--workers 5] [--json]
 *
 * Warms the prefix that every session shares with one call, lets the workers use it at once, and
 * takes the hit rate from the provider's own usage figures. Models and keys are those of daemon.toml
 * and the environment. Exit code 1 below 80 %.
 */
import { detectSandbox } from "../src/jail/sandbox.ts";
import { HIT_RATE_MIN, measureCache } from "../src/agent/prefix.ts";
import type { Usage } from "../src/models/model.ts";
import { agentProblem } from "../src/models/acp_entry.ts";
import { ModelRegistry } from "../src/models/registry.ts";
import { toolbelt } from "../src/models/toolbelt.ts";
import { builtinTools } from "../src/agent/tools.ts";
import { memoryTools } from "../src/features/memory/tools.ts";
import { verifyTool } from "../src/features/verify/tool.ts";
import { UnitPool } from "../src/jail/unit/pool.ts";
import { parseFlags } from "../src/cli/args.ts";
import { env, ownPaths } from "../src/cli/environment.ts";
import { table } from "../src/cli/table.ts";
import { readConfig } from "../src/config/read.ts";

const { string, boolean } = parseFlags(Deno.args, {
  string: ["model", "workers"],
  boolean: ["json"],
});
const config = await readConfig(ownPaths().config);
const registry = new ModelRegistry({
  models: config.models,
  env,
  default_model: config.default_model,
  builtin: () => toolbelt(() => crypto.randomUUID()),
  agentProblem: (name) => agentProblem(name, config.acp, env),
});
/** Only what the tools are offered as counts here. */
const uncalled = () => Promise.reject(new Error("no tool is called here"));
const model = await registry.resolve(string.model ?? registry.defaultId());
const parts = {
  units: new UnitPool({ max: 1, idle_ms: 0 }),
  sandbox: () => detectSandbox(config.sandbox.shell),
  network: () => config.sandbox.network,
  own_port: () => 0,
  egress: () => Promise.resolve(undefined),
};
const memory = { remember: uncalled, recall: uncalled };
const tools = builtinTools(parts, [...memoryTools(memory), verifyTool(parts)])
  .map((tool) => tool.spec);
const stop = new AbortController();
Deno.addSignalListener("SIGINT", () => stop.abort());

const count = Number(string.workers ?? 5);
const { warm, workers, hit_rate } = await measureCache(model, tools, count, stop.signal);
const passed = hit_rate >= HIT_RATE_MIN;
if (boolean.json) {
  console.log(JSON.stringify({ model: model.id, warm, workers, hit_rate, passed }));
} else {
  const row = (name: string, usage: Usage) => [
    name,
    String(usage.tokens_in),
    String(usage.tokens_cached),
    String(usage.tokens_cache_write),
  ];
  console.log(table([
    ["CALL", "INPUT", "FROM CACHE", "TO CACHE"],
    row("warm", warm),
    ...workers.map((usage, n) => row(`worker ${n + 1}`, usage)),
  ]));
  const percent = (hit_rate * 100).toFixed(1);
  console.log(
    `${model.id}: ${percent} % of the workers' input came from the cache, ` +
      `${passed ? "enough" : "too little"} (at least ${HIT_RATE_MIN * 100} %)`,
  );
}
Deno.exit(passed ? 0 : 1);
