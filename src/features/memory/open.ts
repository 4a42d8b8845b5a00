/** The cortex of a daemon. Loaded when the memory is first needed, or a turn is first to be read. */
import { spentBudget } from "../../agent/budget.ts";
import { costUsd } from "../../models/prices.ts";
import type { ModelRegistry } from "../../models/registry.ts";
import { Cortex } from "./cortex.ts";
import { type ToolMemory, toolMemory } from "./tool_memory.ts";
import { exists } from "../../os/files.ts";
import type { Log } from "../../os/log.ts";
import type { HomePaths } from "../../os/paths.ts";
import { openStateDb } from "../../os/state_db.ts";
import type { Hub } from "../../session/hub.ts";
import type { Ids } from "../../session/ids.ts";
import type { Config } from "../../config/config.ts";

export interface DaemonCortexParts {
  paths: HomePaths;
  ids: Ids;
  log: Log;
  hub: Hub;
  config(): Config;
  models(): ModelRegistry;
}

export interface DaemonCortex {
  cortex: Cortex;
  /** For the tools of the sessions. */
  tools: ToolMemory;
}

/** Makes the daemon's cortex; it opens nothing yet. */
export function makeCortex(parts: DaemonCortexParts): DaemonCortex {
  const { paths, ids, log, hub, config, models } = parts;
  const cortex = new Cortex({
    exists: () => exists(paths.state_db),
    openDb: () => openStateDb(paths.state_db),
    audit_path: paths.curator_audit,
    log,
    settings: () => config().cortex,
    model: (id) => models().resolve(id),
    cost: (model_id, usage) => costUsd(model_id, usage, config().prices).usd,
    spent: ({ state }) => spentBudget(state, config().agent.budget_usd),
    newId: (prefix) => ids.next(prefix),
  });
  return { cortex, tools: toolMemory(cortex, (id) => hub.get(id)) };
}

/** The services of the verbs of the memory. */
export interface MemoryServices {
  readonly hub: Hub;
  /** Memory and lobes, loaded on first use. */
  cortex(): Promise<Cortex>;
}
