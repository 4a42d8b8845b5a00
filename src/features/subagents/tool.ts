/** The tool with which a model gives tasks to subagents. */
import * as z from "zod";
import { SUBAGENT } from "../../protocol/events.ts";
import { defineTool, type Tool } from "../../agent/tool.ts";
import type { SubagentsConfig } from "./config.ts";
import { Places } from "./places.ts";

const DESCRIPTION_MAX = 80;
const TASK_MAX = 50_000;

interface AgentToolParts {
  config(): SubagentsConfig;
  /** Returns the turn of a session that is running. */
  turnOf(session_id: string): Promise<string>;
  places: Places;
}

/** Returns the tool. */
export function agentTool({ config, turnOf, places }: AgentToolParts): Tool {
  return defineTool({
    name: SUBAGENT,
    description:
      "Has a subagent do a task in the same working directory and returns its answer. It sees " +
      "nothing of this conversation, so the task must say everything: what to do, what is known, " +
      "and what to answer. Calls in one answer run at the same time: use that for tasks that do " +
      "not depend on each other, and give each its own files to change. Use it for work whose " +
      "details you do not need, such as a search through many files.",
    access: "read",
    once: true,
    waits: true,
    // Work for others could spend more than was agreed to.
    offered: ({ trust }) => trust === "trusted",
    input: z.strictObject({
      description: z.string().trim().min(1).max(DESCRIPTION_MAX)
        .describe("The task in three to six words, for the person"),
      task: z.string().trim().min(1).max(TASK_MAX).describe("The complete instructions"),
      tools: z.enum(["read", "all"]).optional()
        .describe("read: only tools that read files or the network (default: all)"),
      model: z.string().min(1).optional().describe("Another model (default: yours)"),
    }),
    describe: ({ description }) => `agent: ${description}`,
    async run(
      { description, task, model, tools = "all" },
      { session_id, call_id, signal, delegate },
    ) {
      if (delegate === undefined) {
        return { ok: false, output: "a subagent cannot start other subagents" };
      }
      const { parallel, per_turn, timeout_s } = config();
      if (!places.admit(session_id, await turnOf(session_id), per_turn)) {
        return {
          ok: false,
          output: `not started: a turn can have ${per_turn} subagents; do the rest yourself`,
        };
      }
      const subagent = {
        call_id,
        description,
        task,
        model,
        tools,
        signal,
        max_ms: timeout_s * 1_000,
      };
      const { ok, text } = await places.take(
        session_id,
        parallel,
        signal,
        () => delegate(subagent),
      );
      return { ok, output: text };
    },
  });
}
