import { MAIN_LANE, PINNED, type SessionEvent, UNPINNED } from "../../protocol/events.ts";
import { laneEnded } from "../../session/state_steps.ts";
import { dropLines, newEntry, prependToEntry } from "./entries.ts";
import { growLooked } from "./looks.ts";
import type { Entry, LaneView, Model } from "./model.ts";
import { cleanLine } from "./text.ts";

/** Characters kept of a lane's output. */
const LANE_MAX = 64 * 1024;

/** A piece of a lane's earlier output. */
export interface LaneDelta {
  text: string;
  /** How many lines at the end of what came before it replaces. */
  redraws?: number;
  /** Its runs that are not plain (`base/looks.ts`). */
  looks?: readonly number[];
}

/** Applies one event to the lanes. */
// fold-ok: the panel of lanes follows them one by one
export function applyToLanes(model: Model, event: SessionEvent): void {
  const find = (id: string) => model.lanes.find(({ lane_id }) => lane_id === id);
  switch (event.type) {
    case "lane.created":
      if (find(event.data.lane_id) === undefined) {
        model.lanes.push(laneView(model, { ...event.data, status: "pending" }));
      }
      break;
    case "lane.status": {
      const lane = find(event.data.lane_id);
      if (lane === undefined) break;
      lane.status = event.data.status;
      if (laneEnded(lane)) lane.ended_at ??= Date.parse(event.at);
      break;
    }
    case "lane.delta": {
      const { lane_id, delta_seq, content_block, redraws = 0, looks } = event.data;
      const lane = lane_id === MAIN_LANE ? undefined : find(lane_id);
      if (lane && delta_seq >= lane.from_delta) {
        if (redraws > 0) dropDrawn(lane, redraws);
        growLooked(lane.output, content_block.text, looks, LANE_MAX);
      }
      break;
    }
    case "lane.note": {
      const { lane_id, reason_code } = event.data;
      const lane = find(lane_id);
      if (lane && reason_code === PINNED) lane.pinned = true;
      if (lane && reason_code === UNPINNED) lane.pinned = false;
      break;
    }
    case "turn.started":
      forgetEndedLanes(model);
      break;
  }
}

/** Creates a lane's view; `delta_seq` is the number of its earlier deltas. */
export function laneView(
  model: Model,
  lane: Pick<LaneView, "lane_id" | "kind" | "status" | "label"> & {
    started_at: string;
    pinned?: boolean;
    delta_seq?: number;
  },
): LaneView {
  const { lane_id, kind, status, started_at, pinned = false, delta_seq = 0 } = lane;
  return {
    lane_id,
    kind,
    status,
    label: kind === "main" ? "main" : cleanLine(lane.label),
    pinned,
    started_at: Date.parse(started_at),
    output: newEntry(model, "lane", ""),
    from_delta: delta_seq + 1,
    redrawn_before: 0,
  };
}

/** Drops the lines that are drawn again; some may belong to earlier output. */
function dropDrawn(lane: LaneView, redraws: number): void {
  const missing = redraws - dropLines(lane.output, redraws);
  // The first line continues an earlier one until it is drawn again itself.
  const first = lane.redrawn_before === 0 && lane.output.lines.length === 1 ? 1 : 0;
  lane.redrawn_before += missing + first;
}

/** Puts a lane's earlier output in front. */
export function loadBefore(
  { output, redrawn_before }: LaneView,
  deltas: readonly LaneDelta[],
): void {
  const before: Entry = { ...output, lines: [""], size: 0, looks: undefined };
  for (const { text, redraws = 0, looks } of deltas) {
    if (redraws > 0) dropLines(before, redraws);
    growLooked(before, text, looks, LANE_MAX);
  }
  if (redrawn_before > 0) dropLines(before, redrawn_before);
  prependToEntry(output, before);
}

function forgetEndedLanes(model: Model): void {
  model.lanes = model.lanes.filter((lane) => lane.pinned || !laneEnded(lane));
  const there = (id: string) => model.lanes.some(({ lane_id }) => lane_id === id);
  if (!there(model.lane_at)) model.lane_at = MAIN_LANE;
  if (model.lane_shown !== undefined && !there(model.lane_shown)) {
    model.lane_shown = model.scroll = undefined;
  }
}
