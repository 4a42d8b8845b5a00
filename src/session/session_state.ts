/** The state of a session: what the daemon knows of it. */
import type * as z from "zod";
import type { PlanStep } from "../protocol/plan_text.ts";
import type { Effort } from "../protocol/effort.ts";
import type {
  Approval,
  DirectoryIdentity,
  EventData,
  RulesFile,
  SkippedRules,
  StopReason,
  Trust,
  TurnLimits,
  TurnUsage,
} from "../protocol/events.ts";
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

export type PendingApproval = z.output<ReturnType<typeof pendingApprovalSchema>>;

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

/** The files before and after a turn that may have changed some. */
export interface FileTurn {
  turn_id: string;
  /** seq of the turn's start. */
  seq: number;
  /** The message that started it. */
  message_id: string;
  at: string;
  before: string;
  /** Missing while the turn runs, and when it was cut off. */
  after?: string;
  /** The rewind that took its files back. */
  undone_by?: string;
}

/** A rewind, and the undoing of one. */
export interface Rewound {
  rewind_id: string;
  seq: number;
  /** seq of the message before which it went; what has this or a later seq is taken back. */
  to_seq: number;
  message_id: string;
  /** The files before and after it, if it was about them. */
  files?: { from: string; to: string };
  conversation: boolean;
  undone?: boolean;
}

/** Events that are no part of the conversation, both ends included. */
export interface TakenBack {
  rewind_id: string;
  from_seq: number;
  to_seq: number;
}

export interface UndoState {
  /** Oldest first. */
  turns: FileTurn[];
  rewinds: Rewound[];
  taken_back: TakenBack[];
  /** seq of the last rewind of the conversation. */
  changed_seq: number;
  /** The last state of the files that was recorded. */
  last?: string;
  /** Why the states of the files are not kept. */
  problem?: string;
}
