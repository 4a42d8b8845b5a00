/** Records, approves and runs the calls of a turn; a call that takes long gets its own lane. */
import { messageOf } from "../protocol/errors.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { Session, Turn } from "../session/session.ts";
import type { ToolCall } from "../models/model.ts";
import { watchLane } from "./tool_lane.ts";
import type { Tool, ToolOutcome } from "./tools.ts";

export interface CallParts {
  /** Returns the paths that the session's tools must not see. */
  hidden(session: Session): string[];
  new_lane_id(): string;
}

/** Where a call is made. */
export interface CallContext {
  parts: CallParts;
  /** The available tools. */
  tools: readonly Tool[];
  session: Session;
  turn: Turn;
}

/**
 * Runs one call: records it, asks for approval if needed, and records the result.
 *
 * @returns the result; a tool that fails does not throw
 * @throws the turn's reason when the turn is stopped immediately
 */
export async function runCall(step: CallContext, call: ToolCall): Promise<ToolOutcome> {
  const { session, turn } = step;
  const { call_id, tool: name, args, echo } = call;
  const lane_id = MAIN_LANE;
  await session.emit("session.tool_started", { call_id, tool: name, args, lane_id, echo });
  const started = performance.now();
  let outcome: ToolOutcome;
  try {
    outcome = await perform(step, call);
  } catch (error) {
    outcome = { ok: false, output: turn.soft.aborted ? "stopped" : messageOf(error) };
  }
  const { ok, output, truncated = false, exit_code } = outcome;
  const duration_ms = Math.round(performance.now() - started);
  await session.emit("session.tool_completed", {
    call_id,
    tool: name,
    ok,
    duration_ms,
    output,
    truncated,
    exit_code,
  });
  turn.signal.throwIfAborted();
  return outcome;
}

async function perform(
  { parts, tools, session, turn }: CallContext,
  call: ToolCall,
): Promise<ToolOutcome> {
  const tool = tools.find((it) => it.spec.name === call.tool);
  if (tool === undefined) {
    const names = tools.map((it) => it.spec.name).join(", ");
    return { ok: false, output: `unknown tool ${call.tool}; available tools: ${names}` };
  }
  const { args: parsed, problem } = tool.parse(call.args);
  if (problem !== undefined) return { ok: false, output: `invalid arguments:\n${problem}` };
  const args = await tool.prepare(parsed, session.state.workdir);
  const refusal = await approve(tool, args, call.call_id, session, turn);
  if (refusal !== undefined) return { ok: false, output: refusal };
  const lane = watchLane(session, turn, parts.new_lane_id, {
    call_id: call.call_id,
    label: tool.describe(args),
  });
  try {
    const outcome = await tool.run(args, {
      session_id: session.id,
      workdir: session.state.workdir,
      hidden: parts.hidden(session),
      signal: lane.signal,
      onOutput: lane.output,
    });
    await lane.end(outcome.ok ? "done" : "errored");
    return outcome;
  } catch (error) {
    await lane.end(turn.signal.aborted ? "cancelled" : "errored");
    throw error;
  }
}

/**
 * Asks for approval if one is needed (contract.md section 5). @returns why the call must not run,
 * if so.
 */
async function approve(
  tool: Tool,
  args: unknown,
  call_id: string,
  session: Session,
  turn: Turn,
): Promise<string | undefined> {
  const { approval, trust, workdir } = session.state;
  if (tool.access === "read") return undefined;
  const risk = tool.risk?.(args, workdir);
  if (approval === "auto") {
    if (trust === "untrusted" && risk !== undefined) {
      return `refused: work for others must not ${tool.describe(args)}: ${risk}`;
    }
    // The memory itself refuses what work for others must not save, so nobody needs to approve it.
    if (trust === "untrusted" || !tool.asks_in_auto(args, workdir)) return undefined;
  }
  if (approval === "read_only") {
    return `refused: this session is read_only and ${tool.spec.name} changes something`;
  }
  if (!tool.asks(args)) return undefined;
  const decision = await session.approvals.ask({
    call_id,
    tool: tool.spec.name,
    args,
    reason: risk === undefined ? tool.describe(args) : `${tool.describe(args)} (${risk})`,
    // "Always" for other calls of this tool does not cover this call.
    rule: risk === undefined ? tool.rule(args) : `${tool.rule(args)} ${JSON.stringify(args)}`,
  }, { signal: turn.soft });
  return decision === "deny" ? "denied: the person did not allow this call" : undefined;
}
