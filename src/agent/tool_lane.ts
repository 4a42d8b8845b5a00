import { type OnOutput, redrawn } from "../base/redraw.ts";
import { MAIN_LANE } from "../protocol/events.ts";
import type { TurnSession } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { STOP_GRACE_MS } from "../session/turns.ts";
import type { Tool } from "./tool.ts";

/** A tool call that runs longer than this gets its own lane (contract.md section 5). */
const LANE_AFTER_MS = 2_000;
/** The most earlier output in the lane's first delta, in characters. */
const EARLY_KEPT = 16 * 1024;
/** The most pieces of it that keep their colours. */
const EARLY_PIECES = 40;

export interface ToolLane {
  /** Fires when the turn or the lane is stopped, and some time after the turn should stop. */
  readonly signal: AbortSignal;
  /** Whether the call had no more time because its turn should stop. */
  readonly overdue: boolean;
  /** Receives output of the call as it arrives. */
  output: OnOutput;
  /** Ends the watch and the lane, if one was opened. */
  end(status: "done" | "errored" | "cancelled"): Promise<void>;
}

/** Opens a lane with live output for a call that takes long, unless it waits for the person. */
export function watchLane(
  session: TurnSession,
  turn: Turn,
  newId: () => string,
  { call_id, label }: { call_id: string; label: string },
  { waits = false, once = false }: Pick<Tool, "waits" | "once">,
): ToolLane {
  const started_at = new Date().toISOString();
  let early = "";
  /** The same as it came, if it has colours: text that is put together has none. */
  let coloured: Parameters<OnOutput>[] | undefined = [];
  let lane_id: string | undefined;
  let opened = Promise.resolve();
  let forget = () => {};
  const killed = new AbortController();
  const overdue = new AbortController();
  let overdue_timer: number | undefined;
  const onStop = () => {
    const why = new DOMException("the turn has stopped", "AbortError");
    overdue_timer = setTimeout(() => overdue.abort(why), STOP_GRACE_MS);
  };
  // A subagent ends at a step of its own.
  if (!once) {
    if (turn.soft.aborted) onStop();
    else turn.soft.addEventListener("abort", onStop, { once: true });
  }
  const open = async (id: string) => {
    await session.lanes.open({
      lane_id: id,
      kind: "tool",
      parent_lane_id: MAIN_LANE,
      label,
      started_at,
      call_id,
    });
    await session.lanes.move(id, "running", "the call is taking long", "tool_running");
    forget = session.lanes.onKilled(id, () => killed.abort(new Error("its lane was stopped")));
    lane_id = id;
    if (coloured?.some(([, , looks]) => looks !== undefined)) {
      for (const piece of coloured) session.emitLaneText(id, ...piece);
    } else if (early !== "") session.emitLaneText(id, early);
    early = "";
    coloured = undefined;
  };
  const timer = waits ? undefined : setTimeout(() => {
    // If the session ends meanwhile, it refuses the lane; the call's own end reports that.
    opened = open(newId()).catch(() => {});
  }, LANE_AFTER_MS);
  return {
    signal: AbortSignal.any([turn.signal, killed.signal, overdue.signal]),
    get overdue() {
      return overdue.signal.aborted;
    },
    output(text, redraws, looks) {
      if (lane_id !== undefined) session.emitLaneText(lane_id, text, redraws, looks);
      else {
        early = redrawn(early, text, redraws).slice(-EARLY_KEPT);
        coloured?.push([text, redraws, looks]);
        if (coloured && coloured.length > EARLY_PIECES) coloured = undefined;
      }
    },
    async end(status) {
      clearTimeout(timer);
      clearTimeout(overdue_timer);
      turn.soft.removeEventListener("abort", onStop);
      await opened;
      forget();
      if (lane_id === undefined || killed.signal.aborted) return;
      await session.lanes.move(lane_id, status, "the call ended", status);
    },
  };
}
