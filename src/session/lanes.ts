/** The lanes of a session: they open, move and are killed (contract.md section 5). */
import { SvcError } from "../protocol/errors.ts";
import { type EventData, type LaneStatus, MAIN_LANE } from "../protocol/events.ts";
import type { Lane, SessionState } from "./session_state.ts";
import { findLane, laneEnded, laneMayMove } from "./state_steps.ts";
import type { Writer } from "./writer.ts";

/** Why a lane moves. */
export interface Cause {
  reason: string;
  reason_code: string;
}

export class Lanes {
  readonly #state: SessionState;
  readonly #writer: Writer;
  readonly #stops = new Map<string, () => void>();
  /** Moves being recorded, by lane. */
  readonly #moving = new Map<string, Promise<unknown>>();

  constructor(state: SessionState, writer: Writer) {
    this.#state = state;
    this.#writer = writer;
  }

  /** Returns a lane. @throws {SvcError} not_found */
  get(lane_id: string): Lane {
    const lane = findLane(this.#state, lane_id);
    if (lane === undefined) {
      throw new SvcError(
        "not_found",
        `session ${this.#state.id} has no lane ${JSON.stringify(lane_id)}`,
      );
    }
    return lane;
  }

  /** Opens a lane, pending. */
  async open(lane: EventData["lane.created"]): Promise<void> {
    await this.#writer.emit("lane.created", lane);
  }

  /**
   * Moves a lane to another status, unless it is unknown, there already, or ending now.
   *
   * @throws {Error} when contract.md section 5 forbids the move: the caller's bug
   */
  async move(
    lane_id: string,
    status: LaneStatus,
    reason: string,
    reason_code: string,
  ): Promise<void> {
    const earlier = this.#moving.get(lane_id);
    if (earlier !== undefined) await earlier.catch(() => {});
    const lane = findLane(this.#state, lane_id);
    if (lane === undefined || lane.status === status) return;
    if (earlier !== undefined && laneEnded(lane)) return;
    if (!laneMayMove(lane.status, status)) {
      throw new Error(`lane ${lane_id} cannot go from ${lane.status} to ${status}`);
    }
    const prev_status = lane.status;
    const data = { lane_id, status, prev_status, reason, reason_code };
    const recorded = this.#writer.emit("lane.status", data);
    this.#moving.set(lane_id, recorded);
    try {
      await recorded;
    } finally {
      if (this.#moving.get(lane_id) === recorded) this.#moving.delete(lane_id);
    }
  }

  /** Cancels the open lanes that `which` picks, without telling who runs them. */
  async cancelOpen(which: (lane: Lane) => boolean, { reason, reason_code }: Cause): Promise<void> {
    for (const lane of [...this.#state.lanes]) {
      if (lane.lane_id === MAIN_LANE || laneEnded(lane) || !which(lane)) continue;
      await this.move(lane.lane_id, "cancelled", reason, reason_code);
    }
  }

  /**
   * Stops a lane and, with `cascade`, the lanes below it; records lane.killed and lane.status.
   *
   * @returns the ended lanes
   * @throws {SvcError} not_found; conflict for the main lane, an ended one, or one with lanes below
   * it without `cascade`
   */
  async kill(
    lane_id: string,
    options: { cascade: boolean; reason: string; actor: string },
  ): Promise<string[]> {
    const { killLane } = await import("./lane_kills.ts");
    return await killLane(this.#state, lane_id, options, {
      lanes: this,
      moved: (id) => this.#moving.get(id),
      record: (data) => this.#writer.emit("lane.killed", data),
      stop: (id) => this.#stops.get(id)?.(),
    });
  }

  /** Kills all open lanes except the main one. */
  async killAll(reason: string, actor: string): Promise<void> {
    const open = () =>
      this.#state.lanes.find((lane) => lane.lane_id !== MAIN_LANE && !laneEnded(lane));
    for (let lane = open(); lane !== undefined; lane = open()) {
      try {
        await this.kill(lane.lane_id, { cascade: true, reason, actor });
      } catch (error) {
        // It ended by itself.
        if (!laneEnded(lane)) throw error;
      }
    }
  }

  /** Calls `stop` when the lane is killed. @returns a function that undoes this */
  onKilled(lane_id: string, stop: () => void): () => void {
    this.#stops.set(lane_id, stop);
    return () => this.#stops.delete(lane_id);
  }
}
