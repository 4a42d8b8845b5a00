/** Kills lanes. */
import { SvcError } from "../protocol/errors.ts";
import { type EventData, MAIN_LANE } from "../protocol/events.ts";
import type { Lanes } from "./lanes.ts";
import type { SessionState } from "./session_state.ts";
import { laneEnded } from "./state_steps.ts";

interface KillParts {
  lanes: Pick<Lanes, "get" | "move">;
  record(data: EventData["lane.killed"]): Promise<unknown>;
  /** Resolves when the lane's pending move is recorded. */
  moved(lane_id: string): Promise<unknown> | undefined;
  stop(lane_id: string): void;
}

/** See `Lanes.kill`. */
export async function killLane(
  state: SessionState,
  lane_id: string,
  options: { cascade: boolean; reason: string; actor: string },
  parts: KillParts,
): Promise<string[]> {
  const lane = parts.lanes.get(lane_id);
  if (lane_id === MAIN_LANE) {
    throw new SvcError("conflict", "the main lane ends with its session", {
      hint: "session.cancel ends the turn; session.kill ends the session",
    });
  }
  if (laneEnded(lane)) {
    throw new SvcError("conflict", `lane ${lane_id} is already ${lane.status}`);
  }
  const below = state.lanes.filter((it) => it.parent_lane_id === lane_id && !laneEnded(it));
  if (below.length > 0 && !options.cascade) {
    throw new SvcError("conflict", `lane ${lane_id} has ${below.length} lanes below it`, {
      hint: "set cascade to stop them too",
    });
  }
  const killed: string[] = [];
  for (const child of below) killed.push(...await killLane(state, child.lane_id, options, parts));
  const { reason, actor } = options;
  await parts.moved(lane_id)?.catch(() => {});
  if (laneEnded(lane)) {
    throw new SvcError("conflict", `lane ${lane_id} is already ${lane.status}`);
  }
  // Nothing may come between the two records: the lane may be about to end by itself.
  await Promise.all([
    parts.record({ lane_id, reason, actor }),
    parts.lanes.move(lane_id, "cancelled", reason, "killed"),
  ]);
  parts.stop(lane_id);
  return [...killed, lane_id];
}
