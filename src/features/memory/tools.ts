import * as z from "zod";
import { defineTool, type Tool } from "../../agent/tool.ts";
import { reachesFar, RECALL, REMEMBER } from "../../protocol/memory.ts";
import { asksFirst, describeProposal, ruleOf } from "./proposals.ts";
import type { ToolMemory } from "./tool_memory.ts";
import { proposalSchema } from "../../protocol/schemas/memory.ts";

/** Returns the tools with which a model uses the memory. */
export function memoryTools(memory: ToolMemory): Tool[] {
  return [
    defineTool({
      name: RECALL,
      description: "Searches the memory that sessions share; gives the entries that fit best.",
      access: "read",
      input: z.strictObject({
        query: z.string().min(1).describe("Words of what is looked for"),
        limit: z.int().min(1).max(50).optional().describe("Number of entries, 10 by default"),
      }),
      describe: ({ query }) => `recall ${query}`,
      run: async ({ query, limit = 10 }, { session_id }) => {
        return { ok: true, output: await memory.recall(session_id, query, limit) };
      },
    }),
    defineTool({
      name: REMEMBER,
      description:
        "Keeps something for later sessions: one sentence that can be understood alone. " +
        "Never a password, key or token.",
      access: "write",
      input: proposalSchema(),
      describe: describeProposal,
      rule: ruleOf,
      asks: asksFirst,
      asks_in_auto: ({ scope }) => reachesFar(scope),
      run: async (proposal, { session_id }) => {
        return { ok: true, output: await memory.remember(session_id, proposal) };
      },
    }),
  ];
}
