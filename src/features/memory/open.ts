/** The cortex of a daemon. Loaded when it is first needed. */
import { spentBudget } from "../../agent/budget.ts";
import { CORTEX } from "./config.ts";
import { Cortex } from "./cortex.ts";
import { type ToolMemory, toolMemory } from "./tool_memory.ts";
import { exists } from "../../os/files.ts";
import type { Hub } from "../../session/hub.ts";
import type { Host } from "../../verbs/host.ts";

interface DaemonCortex {
  cortex: Cortex;
  tools: ToolMemory;
}

/** Creates the cortex; opens nothing yet. */
export function makeCortex(host: Host): DaemonCortex {
  const { paths, ids, log, hub, config, models, cost, openStateDb } = host;
  const cortex = new Cortex({
    exists: () => exists(paths.state_db),
    openDb: openStateDb,
    audit_path: paths.curator_audit,
    log,
    settings: () => config().of(CORTEX),
    model: (id) => models().resolve(id),
    cost,
    spent: ({ state }) => spentBudget(state, config().agent.budget_usd),
    newId: (prefix) => ids.next(prefix),
  });
  return { cortex, tools: toolMemory(cortex, (id) => hub.get(id)) };
}

export interface MemoryServices {
  readonly hub: Hub;
  /** Loaded on first use. */
  cortex(): Promise<Cortex>;
}
