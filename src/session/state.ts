/** The state of a session, a fold over its events. It is small: the conversation is elsewhere. */
import {
  type CheckpointState,
  MAIN_LANE,
  MODEL_RETRY,
  PINNED,
  type SessionEvent,
  type StopReason,
  type TurnLimits,
  UNPINNED,
} from "../protocol/events.ts";
import { applyFilesKept, applyRewound, emptyUndo } from "./undo_state.ts";
import type { QueuedMessage, SessionState } from "./session_state.ts";
import {
  activityOf,
  addHourCost,
  addTierChange,
  applySettings,
  continueTurn,
  findLane,
  laneEnded,
  queuedBefore,
  rulesAfter,
  takeMessages,
  takeTitle,
  withdrawApprovals,
  withdrawMessages,
} from "./state_steps.ts";

type CheckpointedState = Omit<SessionState, "sent" | "queued"> & {
  sent: [string, { message_id: string; seq: number }][];
  queued?: QueuedMessage[];
  /** Instead of `queued`, in data of older versions. */
  first_waiting?: string;
  turn_limits?: TurnLimits;
};

/**
 * How many client_message_ids are remembered, also over restarts and retention: an offline client
 * may resend a message long after it was accepted.
 */
export const SENT_KEPT = 10_000;

/** Finished tool lanes kept for listing. */
const LANES_KEPT = 64;

/** Ends of turns after which a message that waits for its own turn gets it. */
const LATER_AFTER: ReadonlySet<StopReason> = new Set<StopReason>(["ok", "cancelled"]);

export function emptyState(id: string): SessionState {
  return {
    id,
    workdir: "",
    model: "",
    title: "",
    state: "running",
    activity: "idle",
    started_at: "",
    last_seq: 0,
    last_event_at: "",
    approval: "ask",
    trust: "trusted",
    cost_usd: 0,
    tokens_in: 0,
    tokens_out: 0,
    tokens_cached: 0,
    messages_count: 0,
    last_message_id: "",
    last_message_seq: 0,
    queued: [],
    later: [],
    taken_seq: 0,
    cost_hours: [],
    lanes: [],
    pending_approvals: [],
    descents: [],
    allowed: [],
    facts: {},
    plan: [],
    background: [],
    rules: { files: [], skipped: [] },
    sent: new Map(),
    undo: emptyUndo(),
  };
}

export function stateFromCheckpoint(state: CheckpointState): SessionState {
  const { sent, first_waiting, turn_limits, ...kept } = state as unknown as CheckpointedState;
  const queued = kept.queued ?? queuedBefore(kept, first_waiting, turn_limits);
  return { ...emptyState(kept.id), ...kept, queued, sent: new Map(sent) };
}

/** Whether only the daemon acted: it stopped, started or tidied up. */
function isOfDaemon({ type, data }: SessionEvent): boolean {
  return type === "session.checkpoint" || type === "daemon.reloaded" ||
    type === "session.located" ||
    (type === "session.paused" || type === "session.resumed") && data.reason !== "operator";
}

/** Remembers the answer to a message; the first counts if it is sent again. */
function rememberSent(
  { sent }: SessionState,
  client_message_id: string | undefined,
  answer: { message_id: string; seq: number },
): void {
  if (client_message_id === undefined || sent.has(client_message_id)) return;
  sent.set(client_message_id, answer);
  if (sent.size > SENT_KEPT) sent.delete(sent.keys().next().value!);
}

/** Applies one event. Unknown types only move `last_seq`. */
export function applyToState(state: SessionState, event: SessionEvent): void {
  state.last_seq = event.seq;
  if (!isOfDaemon(event)) state.last_event_at = event.at;
  switch (event.type) {
    case "session.checkpoint": {
      Object.assign(state, stateFromCheckpoint(event.data.state));
      break;
    }
    case "session.created":
      state.workdir = event.data.workdir;
      state.directory = event.data.directory;
      state.model = event.data.model;
      state.title = event.data.title;
      state.goal = event.data.goal;
      state.untitled = event.data.untitled && "directory";
      state.temporary = event.data.temporary;
      state.approval = event.data.approval;
      state.effort = event.data.effort;
      state.added_dirs = event.data.added_dirs;
      state.network = event.data.network;
      state.trust = event.data.trust ?? "trusted";
      state.skill_pack = event.data.skill_pack;
      state.budget_usd = event.data.budget_usd;
      state.started_at = event.at;
      break;
    case "session.moved": {
      const { workdir, from, directory } = event.data;
      state.former_workdirs = [...new Set([...state.former_workdirs ?? [], from])];
      state.workdir = workdir;
      state.directory = directory;
      break;
    }
    case "session.located":
      state.directory = event.data.directory;
      break;
    case "session.configured":
      applySettings(state, event.data);
      break;
    case "session.titled":
      if (state.untitled === undefined) break;
      state.title = event.data.title;
      state.untitled = undefined;
      break;
    case "user.message": {
      if (state.untitled === "directory") takeTitle(state, event.data.text);
      state.messages_count++;
      state.archived = undefined;
      const { client_message_id, message_id, max_steps, max_usd } = event.data;
      state.later = state.later.filter(({ message }) => message.message_id !== message_id);
      state.queued = [...state.queued, {
        message_id,
        seq: event.seq,
        limits: {
          ...(max_steps !== undefined && { max_steps }),
          ...(max_usd !== undefined && { max_usd }),
        },
        before: { message_id: state.last_message_id, seq: state.last_message_seq },
      }];
      state.last_message_id = message_id;
      state.last_message_seq = event.seq;
      rememberSent(state, client_message_id, { message_id, seq: event.seq });
      break;
    }
    case "user.queued": {
      const { client_message_id, message_id } = event.data;
      state.archived = undefined;
      state.later = [...state.later, { seq: event.seq, message: event.data }];
      rememberSent(state, client_message_id, { message_id, seq: event.seq });
      break;
    }
    case "user.withdrawn":
      withdrawMessages(state, event);
      break;
    case "turn.started": {
      const limits = state.queued.at(-1)?.limits ?? {};
      state.later_held = undefined;
      state.cut = undefined;
      state.turn = {
        turn_id: event.data.turn_id,
        started_seq: event.seq,
        message_id: state.queued[0]?.message_id ?? state.last_message_id,
        text: "",
        step_start: 0,
        usage: { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 },
      };
      if (Object.keys(limits).length > 0) state.turn.limits = limits;
      if (event.data.run !== undefined) state.turn.run = event.data.run;
      if (state.effort !== undefined) state.turn.effort = state.effort;
      state.activity = activityOf(state);
      break;
    }
    case "turn.continued":
      state.later_held = undefined;
      continueTurn(state, event.data.after);
      break;
    case "turn.parked": {
      const { until, reason } = event.data;
      if (!state.turn) break;
      state.turn.parked = { until, reason };
      state.turn.parked_since ??= event.at;
      break;
    }
    case "session.delta":
      if (state.turn) state.turn.text += event.data.text;
      break;
    case "cost.tick": {
      const { usd_delta, tokens_in, tokens_out, tokens_cached, lane_id = MAIN_LANE } = event.data;
      const turn = lane_id === MAIN_LANE ? state.turn : undefined;
      // Another lane's cost counts for the session only.
      const usage = event.data.in_turn ? state.turn?.usage : turn?.usage;
      if (usage) usage.usd += usd_delta;
      for (const total of [usage, state]) {
        if (total === undefined) continue;
        total.tokens_in += tokens_in;
        total.tokens_out += tokens_out;
        total.tokens_cached += tokens_cached;
      }
      state.cost_usd += usd_delta;
      state.unpriced = event.data.unpriced ?? state.unpriced;
      addHourCost(state, event.at, event.data);
      const { context_limit: limit } = event.data;
      if (limit !== undefined) state.context = { used: tokens_in + tokens_out, limit };
      if (turn) {
        takeMessages(state, event.data.seen_seq);
        turn.step_start = turn.text.length;
        if (turn.parked_since !== undefined) turn.parked_since = undefined;
      }
      break;
    }
    case "session.compacted": {
      const { tokens_after: used, learned } = event.data;
      if (state.context) state.context = { used, limit: learned?.tokens ?? state.context.limit };
      state.cut = undefined;
      break;
    }
    case "files.kept":
      applyFilesKept(state, event.at, event.data);
      break;
    case "session.rewound":
      applyRewound(state, event);
      break;
    case "approval.requested":
      state.pending_approvals.push({ ...event.data, requested_at: event.at });
      state.activity = activityOf(state);
      break;
    case "approval.resolved": {
      const { approval_id, decision, always } = event.data;
      const approval = state.pending_approvals.find((it) => it.approval_id === approval_id);
      withdrawApprovals(state, event);
      if (decision !== "allow_always" || approval === undefined || always !== undefined) break;
      if (!state.allowed.includes(approval.rule)) state.allowed.push(approval.rule);
      break;
    }
    case "turn.completed":
      takeMessages(state, event.data.taken_seq ?? state.turn?.started_seq ?? event.seq);
      state.cut = event.data.stop_reason === "interrupted" ? state.turn : undefined;
      state.turn = undefined;
      withdrawApprovals(state, event);
      state.last_stop = event.data.stop_reason;
      if (!LATER_AFTER.has(event.data.stop_reason)) state.later_held = true;
      if (event.data.message !== "") state.messages_count++;
      break;
    case "session.paused":
      state.state = "paused";
      state.paused_by = event.data.reason;
      if (state.turn) state.turn.left = state.paused_by === "daemon_shutdown";
      break;
    case "session.resumed":
      state.state = "running";
      state.paused_by = undefined;
      break;
    case "session.ended":
      state.state = "ended";
      state.activity = "idle";
      state.ended_at = event.at;
      break;
    case "context.told":
      state.facts = event.data.facts;
      break;
    case "plan.changed":
      state.plan = event.data.steps;
      break;
    case "background.started": {
      const { command_id, command } = event.data;
      state.background = [...state.background, { command_id, command, started_at: event.at }];
      break;
    }
    case "background.ended": {
      const { command_id } = event.data;
      state.background = state.background.filter((it) => it.command_id !== command_id);
      break;
    }
    case "rules.loaded":
      state.rules = rulesAfter(state.rules, event.data);
      break;
    case "descent.tier_changed":
      addTierChange(state.descents, event.at, event.data);
      break;
    case "lane.created": {
      const { call_id: _, ...lane } = event.data;
      const status = "pending";
      state.lanes.push({ ...lane, status, delta_seq: 0, pinned: false, cost_usd: 0 });
      if (state.lanes.length > LANES_KEPT) {
        const oldest = state.lanes.findIndex((lane) => laneEnded(lane) && !lane.pinned);
        if (oldest >= 0) state.lanes.splice(oldest, 1);
      }
      break;
    }
    case "lane.status": {
      const lane = findLane(state, event.data.lane_id);
      if (lane) lane.status = event.data.status;
      withdrawApprovals(state, event);
      break;
    }
    case "lane.delta": {
      const lane = findLane(state, event.data.lane_id);
      if (lane) lane.delta_seq = event.data.delta_seq;
      break;
    }
    case "lane.cost": {
      const { lane_id, usd_delta, tokens_in, tokens_out } = event.data;
      const lane = findLane(state, lane_id);
      if (lane === undefined) break;
      lane.cost_usd += usd_delta;
      lane.tokens = (lane.tokens ?? 0) + tokens_in + tokens_out;
      break;
    }
    case "lane.note": {
      const { reason_code } = event.data;
      const lane = findLane(state, event.data.lane_id);
      if (lane && reason_code === PINNED) lane.pinned = true;
      if (lane && reason_code === UNPINNED) lane.pinned = false;
      if (reason_code === MODEL_RETRY && state.turn) {
        state.turn.text = state.turn.text.slice(0, state.turn.step_start);
      }
      break;
    }
  }
}
