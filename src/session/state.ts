/**
 * The state of a session: a fold over its events, the same one live and after a restart. It stays
 * small however long the session gets; the conversation itself is in `transcript.ts`.
 */
import type * as z from "zod";
import type { PlanStep } from "../protocol/plan_text.ts";
import type { Effort } from "../protocol/effort.ts";
import type {
  Approval,
  CheckpointState,
  CutBy,
  DirectoryIdentity,
  EventData,
  LaneStatus,
  RulesFile,
  SessionEvent,
  SkippedRules,
  StopReason,
  Trust,
  TurnLimits,
  TurnUsage,
} from "../protocol/events.ts";
import { MAIN_LANE, MODEL_RETRY, PINNED, UNPINNED } from "../protocol/events.ts";
import { titleOf } from "./titles.ts";
import { applyFilesKept, applyRewound, emptyUndo, type UndoState } from "./undo_state.ts";
import type {
  backgroundItemSchema,
  laneSchema,
  pendingApprovalSchema,
} from "../protocol/schemas/session.ts";

export type Lane = z.output<ReturnType<typeof laneSchema>>;

/** What the calls of one model cost in one hour. */
export interface HourCost {
  /** Start of the hour, RFC 3339. */
  at: string;
  /** Missing in what an older version has kept: it was the session's. */
  model?: string;
  usd: number;
  tokens_in: number;
  tokens_out: number;
  /** Of `tokens_in`, those that the provider had cached. */
  tokens_cached: number;
}

export interface PendingApproval extends z.output<ReturnType<typeof pendingApprovalSchema>> {
  /** Who asks. */
  lane_id: string;
}

/** A command that runs in the background. */
export type BackgroundItem = z.output<ReturnType<typeof backgroundItemSchema>>;

/** A step of repairing a criterion. */
export type TierChange = Omit<EventData["descent.tier_changed"], "ac_id"> & { at: string };

/** What a criterion of a mission went through. */
export interface Descent {
  ac_id: string;
  /** Oldest first. */
  changes: TierChange[];
}

/** The turn in flight. */
export interface OpenTurn {
  turn_id: string;
  started_seq: number;
  /** The message that started it; missing in what an older version has kept. */
  message_id?: string;
  /** Text of the whole turn so far. */
  text: string;
  /** Length of `text` when the current model call began: what a retry takes back. */
  step_start: number;
  usage: TurnUsage;
  /** Those of the message that started it. */
  limits?: TurnLimits;
  /** How long its model may think; not after a change of the model. */
  effort?: Effort;
  /** Whether a daemon that stopped in order has left it for the next one. */
  left?: boolean;
  /** How often in a row it went on after a crash. */
  crashes?: number;
}

/** A message that no model call has seen. */
export interface QueuedMessage {
  message_id: string;
  seq: number;
  /** Of the turn that it starts. */
  limits: TurnLimits;
  /** The person's last message before it. */
  before: { message_id: string; seq: number };
}

export interface SessionState {
  id: string;
  workdir: string;
  /** What the directory is; unknown in older sessions, until they are opened. */
  directory?: DirectoryIdentity;
  /** Where it worked before it was moved. */
  former_workdirs?: string[];
  model: string;
  title: string;
  /** Where the title comes from while nobody has given one: it may still be replaced. */
  untitled?: "directory" | "message";
  state: "running" | "paused" | "ended";
  activity: "idle" | "working" | "awaiting_approval";
  started_at: string;
  ended_at?: string;
  last_seq: number;
  last_event_at: string;
  approval: Approval;
  /** Whether lists show it first. */
  pinned?: true;
  /** Whether lists leave it out until it gets a message. */
  archived?: true;
  /** How long its model may think; undefined: as its provider has it. */
  effort?: Effort;
  /** Fixed at creation. */
  trust: Trust;
  /** The name of a skill that its model is told at once. */
  skill_pack?: string;
  budget_usd?: number;
  cost_usd: number;
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  messages_count: number;
  /** Id of the person's last message; empty before the first. */
  last_message_id: string;
  /** seq of that message; 0 before the first. */
  last_message_seq: number;
  /** The messages that no model call has seen, oldest first. */
  queued: QueuedMessage[];
  /** Messages up to this seq were answered, or their turn has ended for good. */
  taken_seq: number;
  /** Cost by the hour, oldest first: it outlives the events that retention rewrites. */
  cost_hours: HourCost[];
  paused_by?: "operator" | "daemon_shutdown";
  last_stop?: StopReason;
  turn?: OpenTurn;
  /** The last turn, if it was interrupted and nothing has followed it: it may go on. */
  cut?: OpenTurn;
  /** Tokens of the conversation and how many it may have; unknown before the first answer. */
  context?: { used: number; limit: number };
  /** Calls were made whose price is not known: `cost_usd` leaves them out. */
  unpriced?: true;
  lanes: Lane[];
  pending_approvals: PendingApproval[];
  /** What the criteria of missions went through, the one that changed last at the end. */
  descents: Descent[];
  /** What `allow_always` was said to. */
  allowed: string[];
  /** What its model knows of where and how it works, by name; empty before its first turn. */
  facts: Record<string, string>;
  /** What its model says it will do, and how far it is. */
  plan: PlanStep[];
  /** Commands that run in the background, oldest first. */
  background: BackgroundItem[];
  /** The rules that its model was told, and the files that could not be read for it. */
  rules: { files: RulesFile[]; skipped: SkippedRules[] };
  /** The last {@linkcode SENT_KEPT} client_message_ids and what was answered to them. */
  sent: Map<string, { message_id: string; seq: number }>;
  /** States of the files, and what was taken back. */
  undo: UndoState;
}

type CheckpointedState = Omit<SessionState, "sent" | "queued"> & {
  sent: [string, { message_id: string; seq: number }][];
  queued?: QueuedMessage[];
  /** In place of `queued`, in what an older version has kept. */
  first_waiting?: string;
  turn_limits?: TurnLimits;
};

/**
 * How many client_message_ids of a session are remembered, over restarts and retention too. A client
 * that keeps its unsent messages while it is offline may repeat one long after it was accepted.
 */
export const SENT_KEPT = 10_000;
/** Criteria whose descent is kept, and how many of its newest steps. */
const DESCENTS_KEPT = 200;
const TIER_CHANGES_KEPT = 64;
/** Finished tool lanes kept for listing. */
const LANES_KEPT = 64;

/** The state before the first event. */
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

/** Whether a lane has reached a final status. */
export function laneEnded({ status }: Pick<Lane, "status">): boolean {
  return LANE_MOVES[status].length === 0;
}

/**
 * The approvals that still wait after an event. One goes with its decision and with the lane that
 * asked; the main lane's go with the turn.
 */
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
      if (LANE_MOVES[data.status].length > 0) return pending;
      return pending.filter((it) => it.lane_id !== data.lane_id);
    default:
      return pending;
  }
}

/** Whether a message waits that no model call has seen; its session owes it a turn. */
export function messageWaits({ queued }: Pick<SessionState, "queued">): boolean {
  return queued.length > 0;
}

/** What a checkpoint keeps of a state. */
export function stateToCheckpoint({ sent, ...state }: SessionState): CheckpointState {
  return { ...state, sent: [...sent] };
}

/** The state that a checkpoint keeps. */
export function stateFromCheckpoint(state: CheckpointState): SessionState {
  const { sent, first_waiting, turn_limits, ...kept } = state as unknown as CheckpointedState;
  const queued = kept.queued ?? queuedBefore(kept, first_waiting, turn_limits);
  return { ...emptyState(kept.id), ...kept, queued, sent: new Map(sent) };
}

/** The message that waited in what an older version has kept. */
function queuedBefore(
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

/** Whether only the daemon has done something: it stopped, started, or tidied up. */
function isOfDaemon({ type, data }: SessionEvent): boolean {
  return type === "session.checkpoint" || type === "daemon.reloaded" ||
    type === "session.located" ||
    (type === "session.paused" || type === "session.resumed") && data.reason !== "operator";
}

/** Applies one event. Events of types this version does not know only move `last_seq`. */
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
      state.untitled = event.data.untitled && "directory";
      state.approval = event.data.approval;
      state.effort = event.data.effort;
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
      if (client_message_id !== undefined) {
        state.sent.set(client_message_id, { message_id, seq: event.seq });
        if (state.sent.size > SENT_KEPT) state.sent.delete(state.sent.keys().next().value!);
      }
      break;
    }
    case "user.withdrawn":
      withdrawMessages(state, event.data);
      break;
    case "turn.started": {
      const limits = state.queued.at(-1)?.limits ?? {};
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
      if (state.effort !== undefined) state.turn.effort = state.effort;
      state.activity = activityOf(state);
      break;
    }
    case "turn.continued":
      continueTurn(state, event.data.after);
      break;
    case "session.delta":
      if (state.turn) state.turn.text += event.data.text;
      break;
    case "cost.tick": {
      const { usd_delta, tokens_in, tokens_out, tokens_cached, lane_id = MAIN_LANE } = event.data;
      const turn = lane_id === MAIN_LANE ? state.turn : undefined;
      // What another lane spends beside a turn is the session's alone.
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
    case "approval.requested": {
      const { approval_id, lane_id, call_id, tool, args, reason, rule } = event.data;
      const { choices, changes, kind } = event.data;
      state.pending_approvals.push({
        approval_id,
        lane_id,
        call_id,
        tool,
        args,
        reason,
        rule,
        ...(choices === undefined ? {} : { choices }),
        ...(changes === undefined ? {} : { changes }),
        ...(kind === undefined ? {} : { kind }),
        requested_at: event.at,
      });
      state.activity = activityOf(state);
      break;
    }
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
      const { lane_id, kind, label, started_at, parent_lane_id } = event.data;
      state.lanes.push({
        lane_id,
        kind,
        label,
        started_at,
        parent_lane_id,
        status: "pending",
        delta_seq: 0,
        pinned: false,
        cost_usd: 0,
      });
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

/** Has the open turn go on, or opens the one that was interrupted again. */
function continueTurn(state: SessionState, after: CutBy): void {
  const turn = state.turn ?? state.cut;
  if (turn === undefined) return;
  // Its end counted what it had said as a message.
  if (state.turn === undefined && turn.text !== "") state.messages_count--;
  turn.text = turn.text.slice(0, turn.step_start);
  turn.left = false;
  turn.crashes = after === "crash" ? (turn.crashes ?? 0) + 1 : 0;
  state.turn = turn;
  state.cut = undefined;
  state.activity = activityOf(state);
}

/** A file that changed takes its own place; what could not be read is said anew each time. */
function rulesAfter(
  { files: before }: SessionState["rules"],
  { files, skipped, removed }: EventData["rules.loaded"],
): SessionState["rules"] {
  const gone = new Set(removed);
  const byPath = new Map(before.map((it) => [it.path, it]));
  for (const file of files) byPath.set(file.path, file);
  return { files: [...byPath.values()].filter(({ path }) => !gone.has(path)), skipped };
}

/**
 * What a session does: an approval of its turn or of one of the turn's subagents holds that up,
 * another's waits beside it.
 */
function activityOf(state: SessionState): SessionState["activity"] {
  const { turn, pending_approvals } = state;
  const ofTurn = ({ lane_id }: PendingApproval) =>
    lane_id === MAIN_LANE || findLane(state, lane_id)?.kind === "tool";
  if (turn && !pending_approvals.some(ofTurn)) return "working";
  return pending_approvals.length > 0 ? "awaiting_approval" : "idle";
}

function takeMessages(state: SessionState, seq: number): void {
  state.taken_seq = Math.max(state.taken_seq, seq);
  state.queued = state.queued.filter((it) => it.seq > state.taken_seq);
}

/** The session is as if the messages had not been sent; only their client_message_ids are known. */
function withdrawMessages(state: SessionState, { messages }: EventData["user.withdrawn"]): void {
  const [first] = state.queued;
  if (first === undefined) return;
  const gone = new Set(messages.map(({ seq }) => seq));
  const left = state.queued.filter(({ seq }) => !gone.has(seq));
  state.messages_count -= state.queued.length - left.length;
  const last = left.at(-1) ?? first.before;
  state.last_message_id = last.message_id;
  state.last_message_seq = last.seq;
  // What came before it may be gone.
  state.queued = left.map((it, n) => ({ ...it, before: left[n - 1] ?? first.before }))
    .map(({ before: { message_id, seq }, ...it }) => ({ ...it, before: { message_id, seq } }));
}

function withdrawApprovals(state: SessionState, event: SessionEvent): void {
  state.pending_approvals = stillPending(state.pending_approvals, event);
  state.activity = activityOf(state);
}

/** Names the session after a message, until it gets a title. */
function takeTitle(state: SessionState, text: string): void {
  const title = titleOf(text);
  if (title === undefined) return;
  state.title = title;
  state.untitled = "message";
}

function applySettings(
  state: SessionState,
  data: EventData["session.configured"],
): void {
  const { model = state.model, approval, effort, budget_usd, title, pinned, archived } = data;
  if (model !== state.model) {
    // Another model has another limit, and has not thought before the calls that it is told of.
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
}

function addHourCost(
  { cost_hours: hours, model: own }: SessionState,
  at: string,
  { usd_delta: usd, tokens_in, tokens_out, tokens_cached, model = own }: EventData["cost.tick"],
): void {
  if (usd === 0 && tokens_in + tokens_out === 0) return;
  const start = `${at.slice(0, 13)}:00:00.000Z`;
  const last = hours.at(-1);
  if (last?.at === start && last.model === model) {
    last.usd += usd;
    last.tokens_in += tokens_in;
    last.tokens_out += tokens_out;
    last.tokens_cached += tokens_cached;
  } else {
    hours.push({ at: start, model, usd, tokens_in, tokens_out, tokens_cached });
  }
}

function addTierChange(
  descents: Descent[],
  at: string,
  { ac_id, ...change }: EventData["descent.tier_changed"],
): void {
  const before = descents.findIndex((it) => it.ac_id === ac_id);
  const [{ changes }] = before < 0 ? [{ changes: [] }] : descents.splice(before, 1);
  descents.push({ ac_id, changes: [...changes, { ...change, at }].slice(-TIER_CHANGES_KEPT) });
  if (descents.length > DESCENTS_KEPT) descents.shift();
}

/** The lane of that id, if it is still known. */
export function findLane(state: SessionState, lane_id: string): Lane | undefined {
  return state.lanes.find((lane) => lane.lane_id === lane_id);
}
