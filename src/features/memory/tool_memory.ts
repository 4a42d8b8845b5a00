/** The memory for the tools `remember` and `recall`. */
import type { Session } from "../../session/session.ts";
import type { Proposal } from "../../protocol/memory.ts";
import type { Cortex } from "./cortex.ts";
import type { Recalled } from "./memory.ts";

/** Returns text for the model. */
export interface ToolMemory {
  remember(session_id: string, proposal: Proposal): Promise<string>;
  recall(session_id: string, query: string, limit: number): Promise<string>;
}

/** @param find returns a session by its id */
export function toolMemory(cortex: Cortex, find: (id: string) => Promise<Session>): ToolMemory {
  return {
    async remember(session_id, proposal) {
      const { entry, is_new } = await cortex.rememberItself(proposal, await find(session_id));
      const { entry_id, category, scope } = entry;
      return is_new
        ? `remembered as ${category} for ${scope}: ${entry_id}`
        : `already known: ${entry_id}`;
    },
    async recall(session_id, query, limit) {
      const entries = await cortex.recall(query, limit, await find(session_id));
      if (entries.length === 0) return "the memory has nothing about that";
      return entries.map(line).join("\n");
    },
  };
}

function line({ entry_id, category, scope, content, tags }: Recalled): string {
  const tagged = tags.length === 0 ? "" : ` (${tags.join(", ")})`;
  return `[${category}] ${content}${tagged} — ${scope}, ${entry_id}`;
}
