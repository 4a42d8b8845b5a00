/** A turn that runs a command of the person, as a call that the next turn's model can see. */
import type { TurnSession } from "../session/session.ts";
import type { Turn, TurnEnd } from "../session/turn.ts";
import type { ToolCall } from "../models/model.ts";
import { type CallContext, runCall } from "./calls.ts";
import { COMMAND_TIMEOUT_MAX_S } from "./tools.ts";
import { continueCall, readLeft } from "./continuation.ts";
import type { LoopParts } from "./loop.ts";

const TOOL = "run_command";
/** What asks for the call, in place of a model. */
const RUNNER = "builtin/toolbelt";
/** Runs the command of the open turn. @throws the reason of a turn that is stopped at once */
export async function runPersonCommand(
  parts: LoopParts<TurnSession>,
  session: TurnSession,
  turn: Turn,
): Promise<TurnEnd> {
  if (turn.soft.aborted) return { stop_reason: "interrupted" };
  const tools = await parts.tools(session, turn.soft);
  const step: CallContext = { parts, tools, session, turn, by_person: true };
  const { last = undefined } = turn.continued ? await readLeft(session) : {};
  const call = last?.answer.calls[0] ?? await ask(session);
  const before = last?.calls.get(call.call_id);
  if (before === undefined) await runCall(step, call);
  else if (before.outcome === undefined) await continueCall(step, call, before);
  return { stop_reason: "ok" };
}

/** Records the call as the answer to the person's message. */
async function ask(session: TurnSession): Promise<ToolCall> {
  const { turn_id, run: command } = session.state.turn!;
  const args = { command, timeout_s: COMMAND_TIMEOUT_MAX_S };
  const call = { call_id: `call_${turn_id}`, tool: TOOL, args };
  while (!session.takeFresh()) await session.transcript();
  await session.emit("cost.tick", {
    usd_delta: 0,
    tokens_in: 0,
    tokens_out: 0,
    tokens_cached: 0,
    seen_seq: session.published_seq,
    model: RUNNER,
    answered: { reason: "calls", calls: [call] },
  });
  return call;
}
