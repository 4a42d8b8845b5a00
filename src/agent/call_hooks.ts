/** Decisions of the operator's programs about calls; the hooks feature runs the programs. */
import type { Tool, ToolOutcome } from "./tool.ts";

export interface HookedCall {
  call_id: string;
  tool: Tool;
  args: unknown;
  /** The description of the subagent that makes the call. */
  subagent?: string;
  /**
   * Changes arguments by their names, in addition to earlier changes.
   *
   * @returns all arguments as the tool then gets them, or why they do not fit it
   */
  change?(
    args: Readonly<Record<string, unknown>>,
  ): Promise<{ args: unknown } | { problem: string }>;
}

export interface HookVerdict {
  action?: "allow" | "ask" | "deny";
  /** The reason for the model and the person. */
  reason?: string;
  /** Text for the model, added to the result. */
  context?: string;
}

export interface CallHooks<S> {
  /** Runs the hooks before a call. @throws the signal's reason */
  beforeCall?(session: S, call: HookedCall, signal: AbortSignal): Promise<HookVerdict | undefined>;
  /** Runs the hooks after a call. @returns text for the model, added to the result */
  afterCall?(
    session: S,
    call: HookedCall,
    outcome: ToolOutcome,
    signal: AbortSignal,
  ): Promise<string | undefined>;
}

/** Adds the hooks' text for the model to a result. */
export function withContext(
  outcome: ToolOutcome,
  ...contexts: (string | undefined)[]
): ToolOutcome {
  const notes = contexts.filter((it) => it !== undefined && it !== "");
  if (notes.length === 0) return outcome;
  return { ...outcome, output: [outcome.output, ...notes].filter((it) => it !== "").join("\n") };
}
