/** What a state says; a daemon needs it before it opens a session. */
import type { LaneStatus } from "../protocol/events.ts";
import type { Lane, SessionState } from "./session_state.ts";

/** Whether a lane may go from one status to another (contract.md section 5). */
export function laneMayMove(from: LaneStatus, to: LaneStatus): boolean {
  return LANE_MOVES[from].includes(to);
}

const LANE_MOVES: Record<LaneStatus, readonly LaneStatus[]> = {
  pending: ["running", "cancelled"],
  running: ["blocked", "done", "errored", "cancelled"],
  blocked: ["running", "cancelled", "errored"],
  done: [],
  errored: [],
  cancelled: [],
};

export function laneEnded({ status }: Pick<Lane, "status">): boolean {
  return LANE_MOVES[status].length === 0;
}

/** Whether a message waits for a turn. */
export function messageWaits({ queued }: Pick<SessionState, "queued">): boolean {
  return queued.length > 0;
}

/** Whether a message waits for a turn of its own that begins by itself. */
export function turnIsDue({ later, later_held }: SessionState): boolean {
  return later.length > 0 && later_held !== true;
}
