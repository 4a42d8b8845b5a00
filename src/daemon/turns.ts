/** The turns of models: their loop, with the tools of this program and of tool servers. */
import { compactNow, type LoopParts, turnRunner } from "../agent/loop.ts";
import { type LimitOverrides, limitsOf } from "../models/limits.ts";
import { builtinTools, type Tool, type ToolParts } from "../agent/tools.ts";
import { pathsOf } from "../features/context/rules_places.ts";
import { Teller, type TellerParts } from "../features/context/teller.ts";
import type { ToolMemory } from "../features/memory/tool_memory.ts";
import { memoryTools } from "../features/memory/tools.ts";
import type { ToolServers } from "../features/tool_servers/open.ts";
import { verifyTool } from "../features/verify/tool.ts";
import type { SessionParts } from "../session/session.ts";

export interface DaemonTurnParts extends Omit<LoopParts, "tools" | "tell" | "touched" | "limits"> {
  tools: ToolParts & { memory: ToolMemory };
  context: TellerParts;
  /** `[models]` of daemon.toml. */
  entries(): Readonly<Record<string, LimitOverrides>>;
  /** The tool servers; undefined where no session can have any. */
  toolServers(): Promise<ToolServers> | undefined;
}

export interface DaemonTurns extends Disposable {
  /** Runs a turn of a session whose model is asked from here. */
  runTurn: ReturnType<typeof turnRunner>;
  /** Makes the conversation of such a session shorter between its turns. */
  compact: NonNullable<SessionParts["compact"]>;
  /** The tools of this program. */
  builtin: readonly Tool[];
}

/** Makes what runs the turns of models. */
export function makeTurns(
  { tools, context, toolServers, entries, ...loop }: DaemonTurnParts,
): DaemonTurns {
  const builtin = builtinTools(tools, [...memoryTools(tools.memory), verifyTool(tools)]);
  const teller = new Teller(context);
  const parts: LoopParts = {
    ...loop,
    tell: (session, turn) => teller.tell(session, turn),
    touched: (session, turn, calls) => teller.touched(session, turn, pathsOf(calls)),
    limits(id) {
      const [provider] = id.split("/");
      const known = entries();
      return limitsOf(id, Object.hasOwn(known, provider) ? known[provider] : {});
    },
    async tools(session, signal) {
      const servers = await toolServers();
      if (servers === undefined) return builtin;
      return [...builtin, ...await servers.session_tools.for(session, signal)];
    },
  };
  return {
    builtin,
    [Symbol.dispose]: () => teller[Symbol.dispose](),
    runTurn: turnRunner(parts),
    compact: (session, turn) => compactNow(session, turn, parts),
  };
}
