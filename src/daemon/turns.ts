/** The turns of models: their loop, with the tools of this program and of tool servers. */
import { type LoopParts, turnRunner } from "../agent/loop.ts";
import { builtinTools, type Tool, type ToolParts } from "../agent/tools.ts";
import type { ToolMemory } from "../features/memory/tool_memory.ts";
import { memoryTools } from "../features/memory/tools.ts";
import type { ToolServers } from "../features/tool_servers/open.ts";
import { verifyTool } from "../features/verify/tool.ts";

export interface DaemonTurnParts extends Omit<LoopParts, "tools"> {
  tools: ToolParts & { memory: ToolMemory };
  /** The tool servers; undefined where no session can have any. */
  toolServers(): Promise<ToolServers> | undefined;
}

export interface DaemonTurns {
  /** Runs a turn of a session whose model is asked from here. */
  runTurn: ReturnType<typeof turnRunner>;
  /** The tools of this program. */
  builtin: readonly Tool[];
}

/** Makes what runs the turns of models. */
export function makeTurns({ tools, toolServers, ...loop }: DaemonTurnParts): DaemonTurns {
  const builtin = builtinTools(tools, [...memoryTools(tools.memory), verifyTool(tools)]);
  return {
    builtin,
    runTurn: turnRunner({
      ...loop,
      async tools(session, signal) {
        const servers = await toolServers();
        if (servers === undefined) return builtin;
        return [...builtin, ...await servers.session_tools.for(session, signal)];
      },
    }),
  };
}
