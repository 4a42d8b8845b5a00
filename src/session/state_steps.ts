/** Steps of the fold in `state.ts`. */
import {
  type CutBy,
  type EventData,
  MAIN_LANE,
  type SessionEvent,
  type TurnLimits,
} from "../protocol/events.ts";
import { laneEnded } from "./state_facts.ts";
import { titleOf } from "./titles.ts";
import type {
  Descent,
  Lane,
  PendingApproval,
  QueuedMessage,
  SessionState,
} from "./session_state.ts";

export { laneEnded, laneMayMove, messageWaits, turnIsDue } from "./state_facts.ts";

/** Criteria to keep, and newest steps of each. */
const DESCENTS_KEPT = 200;
const TIER_CHANGES_KEPT = 64;

/** The approvals left after an event. Each ends with its decision, its lane, or the main turn. */
export function stillPending<T extends { approval_id: string; lane_id: string }>(
  pending: T[],
  { type, data }: SessionEvent,
): T[] {
  switch (type) {
    case "approval.resolved":
      return pending.filter((it) => it.approval_id !== data.approval_id);
    case "turn.completed":
      return pending.filter((it) => it.lane_id !== MAIN_LANE);
    case "lane.status":
      if (!laneEnded(data)) return pending;
      return pending.filter((it) => it.lane_id !== data.lane_id);
    default:
      return pending;
  }
}

/** The waiting message in data of older versions. */
export function queuedBefore(
  { last_message_seq: seq, last_message_id, taken_seq }: Pick<
    SessionState,
    "last_message_seq" | "last_message_id" | "taken_seq"
  >,
  message_id = last_message_id,
  limits: TurnLimits = {},
): QueuedMessage[] {
  const before = { message_id: "", seq: 0 };
  return seq > taken_seq ? [{ message_id, seq, limits, before }] : [];
}

/** Continues the open turn, or reopens the interrupted one. */
export function continueTurn(state: SessionState, after: CutBy): void {
  const turn = state.turn ?? state.cut;
  if (turn === undefined) return;
  // Its end counted its text as a message.
  if (state.turn === undefined && turn.text !== "") state.messages_count--;
  turn.text = turn.text.slice(0, turn.step_start);
  turn.left = false;
  if (turn.parked !== undefined) turn.parked = undefined;
  turn.crashes = after === "crash" ? (turn.crashes ?? 0) + 1 : 0;
  state.turn = turn;
  state.cut = undefined;
  state.activity = activityOf(state);
}

/** A changed file replaces itself; unreadable files are listed anew each time. */
export function rulesAfter(
  { files: before }: SessionState["rules"],
  { files, skipped, removed }: EventData["rules.loaded"],
): SessionState["rules"] {
  const gone = new Set(removed);
  const byPath = new Map(before.map((it) => [it.path, it]));
  for (const file of files) byPath.set(file.path, file);
  return { files: [...byPath.values()].filter(({ path }) => !gone.has(path)), skipped };
}

/** An approval of the turn or its subagents holds the turn up; others wait beside it. */
export function activityOf(state: SessionState): SessionState["activity"] {
  const { turn, pending_approvals } = state;
  const ofTurn = ({ lane_id }: PendingApproval) =>
    lane_id === MAIN_LANE || findLane(state, lane_id)?.kind === "tool";
  if (turn && !pending_approvals.some(ofTurn)) return "working";
  return pending_approvals.length > 0 ? "awaiting_approval" : "idle";
}

export function takeMessages(state: SessionState, seq: number): void {
  state.taken_seq = Math.max(state.taken_seq, seq);
  state.queued = state.queued.filter((it) => it.seq > state.taken_seq);
}

/** Undoes messages; only their client_message_ids stay known. */
export function withdrawMessages(
  state: SessionState,
  { seq: at_seq, data: { messages, queued } }: Extract<
    SessionEvent,
    { type: "user.withdrawn" }
  >,
): void {
  const gone = new Set(messages.map(({ seq }) => seq));
  state.later = [
    ...state.later.filter(({ seq }) => !gone.has(seq)),
    ...queued === undefined ? [] : [{ seq: at_seq, message: queued }],
  ];
  const [first] = state.queued;
  if (first === undefined) return;
  const left = state.queued.filter(({ seq }) => !gone.has(seq));
  state.messages_count -= state.queued.length - left.length;
  const last = left.at(-1) ?? first.before;
  state.last_message_id = last.message_id;
  state.last_message_seq = last.seq;
  // The message before may be gone.
  state.queued = left.map((it, n) => ({ ...it, before: left[n - 1] ?? first.before }))
    .map(({ before: { message_id, seq }, ...it }) => ({ ...it, before: { message_id, seq } }));
}

export function withdrawApprovals(state: SessionState, event: SessionEvent): void {
  state.pending_approvals = stillPending(state.pending_approvals, event);
  state.activity = activityOf(state);
}

/** Names the session after a message, until it gets a title. */
export function takeTitle(state: SessionState, text: string): void {
  const title = titleOf(text);
  if (title === undefined) return;
  state.title = title;
  state.untitled = "message";
}

export function applySettings(
  state: SessionState,
  data: EventData["session.configured"],
): void {
  const { model = state.model, approval, effort, budget_usd, title, pinned, archived } = data;
  const { added_dirs, network } = data;
  if (model !== state.model) {
    // The new model has another limit, and did not think before the earlier calls.
    state.context = undefined;
    for (const turn of [state.turn, state.cut]) if (turn?.effort) turn.effort = undefined;
    for (const hour of state.cost_hours) hour.model ??= state.model;
  }
  state.model = model;
  state.approval = approval ?? state.approval;
  if (effort !== undefined) state.effort = effort === "default" ? undefined : effort;
  state.budget_usd = budget_usd ?? state.budget_usd;
  if (title !== undefined) {
    state.title = title;
    state.untitled = undefined;
  }
  if (pinned !== undefined) state.pinned = pinned || undefined;
  if (archived !== undefined) state.archived = archived || undefined;
  if (network !== undefined) state.network = network === "default" ? undefined : network;
  if (added_dirs !== undefined) state.added_dirs = added_dirs.length > 0 ? added_dirs : undefined;
}

export function addHourCost(
  { cost_hours: hours, model: own }: SessionState,
  at: string,
  { usd_delta: usd, model = own, ...tick }: EventData["cost.tick"],
): void {
  const { tokens_in, tokens_out, tokens_cached, unpriced } = tick;
  if (usd === 0 && tokens_in + tokens_out === 0) return;
  const quarter = String(Math.floor(Number(at.slice(14, 16)) / 15) * 15).padStart(2, "0");
  const start = `${at.slice(0, 13)}:${quarter}:00.000Z`;
  const last = hours.at(-1);
  if (last?.at === start && last.model === model) {
    last.usd += usd;
    last.tokens_in += tokens_in;
    last.tokens_out += tokens_out;
    last.tokens_cached += tokens_cached;
    if (unpriced) last.unpriced = true;
  } else {
    hours.push({
      at: start,
      model,
      usd,
      tokens_in,
      tokens_out,
      tokens_cached,
      ...(unpriced && { unpriced }),
    });
  }
}

export function addTierChange(
  descents: Descent[],
  at: string,
  { ac_id, ...change }: EventData["descent.tier_changed"],
): void {
  const before = descents.findIndex((it) => it.ac_id === ac_id);
  const [{ changes }] = before < 0 ? [{ changes: [] }] : descents.splice(before, 1);
  descents.push({ ac_id, changes: [...changes, { ...change, at }].slice(-TIER_CHANGES_KEPT) });
  if (descents.length > DESCENTS_KEPT) descents.shift();
}

export function findLane(state: SessionState, lane_id: string): Lane | undefined {
  return state.lanes.find((lane) => lane.lane_id === lane_id);
}
