/** The state of a session. */
import type * as z from "zod";
import type { AddedDirectory } from "../protocol/added_directory.ts";
import type { PlanStep } from "../protocol/plan_text.ts";
import type { Effort } from "../protocol/effort.ts";
import type { Network } from "../protocol/network.ts";
import type {
  Approval,
  CheckpointState,
  DirectoryIdentity,
  EventData,
  LaterMessage,
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

/** Cost of one model's calls in a quarter of an hour: in each time zone, days begin with one. */
export interface HourCost {
  /** When it starts, RFC 3339; data of older versions is by the hour. */
  at: string;
  /** Missing in data of older versions: it was the session's. */
  model?: string;
  usd: number;
  tokens_in: number;
  tokens_out: number;
  /** The part of `tokens_in` read from a cache. */
  tokens_cached: number;
  /** Set when `usd` lacks calls of unknown price; missing in data of older versions. */
  unpriced?: true;
}

export type PendingApproval = z.output<ReturnType<typeof pendingApprovalSchema>>;

export type BackgroundItem = z.output<ReturnType<typeof backgroundItemSchema>>;

type TierChange = Omit<EventData["descent.tier_changed"], "ac_id"> & { at: string };

/** Repair of a mission's criterion. */
export interface Descent {
  ac_id: string;
  /** Oldest first. */
  changes: TierChange[];
}

/** The running turn. */
export interface OpenTurn {
  turn_id: string;
  started_seq: number;
  /** The message that started it; missing in data of older versions. */
  message_id?: string;
  /** Text of the turn so far. */
  text: string;
  /** Length of `text` at the start of the current model call: a retry cuts it there. */
  step_start: number;
  usage: TurnUsage;
  /** From the message that started it. */
  limits?: TurnLimits;
  /** The command of the person that it runs, instead of asking the model. */
  run?: string;
  /** How long the model may think; unset after a change of model. */
  effort?: Effort;
  /** Whether a clean stop left it for the next daemon. */
  left?: boolean;
  /** Until when it waits for the end of a limit, and what the provider said. */
  parked?: { until: string; reason: string };
  /** When it was first parked without an answer since. */
  parked_since?: string;
  /** Continuations in a row after crashes. */
  crashes?: number;
}

/** A message that no model call has seen. */
export interface QueuedMessage {
  message_id: string;
  seq: number;
  limits: TurnLimits;
  /** The person's message before it. */
  before: { message_id: string; seq: number };
}

/** A message that waits for a turn of its own. */
export interface Later {
  /** seq of the event that queued it. */
  seq: number;
  message: LaterMessage;
}

export interface SessionState {
  id: string;
  workdir: string;
  /** The directory's identity; undefined in older sessions until they are opened. */
  directory?: DirectoryIdentity;
  /** Workdirs before moves. */
  former_workdirs?: string[];
  model: string;
  title: string;
  /** What a work session is about; its title identifies it. */
  goal?: string;
  /** Source of an automatic title, which may still be replaced. */
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
  /** Whether lists hide it until its next message. */
  archived?: true;
  /** Whether it is deleted when nobody follows it any more. */
  temporary?: true;
  /** How long the model may think; undefined: the provider's default. */
  effort?: Effort;
  /** Directories besides `workdir` that the person lets its tools use. */
  added_dirs?: AddedDirectory[];
  /** What its commands reach; undefined: what daemon.toml says. */
  network?: Network;
  /** Fixed at creation. */
  trust: Trust;
  /** Name of a skill that the model gets at once. */
  skill_pack?: string;
  budget_usd?: number;
  cost_usd: number;
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  messages_count: number;
  /** Empty before the first message. */
  last_message_id: string;
  /** 0 before the first message. */
  last_message_seq: number;
  /** Messages that no model call has seen, oldest first. */
  queued: QueuedMessage[];
  /** Messages that wait for turns of their own, in order. */
  later: Later[];
  /** Whether they wait for a person, too: the last turn failed, or the conversation went back. */
  later_held?: true;
  /** Messages up to this seq are answered, or their turn has ended. */
  taken_seq: number;
  /** Oldest first; retention keeps them. */
  cost_hours: HourCost[];
  paused_by?: "operator" | "daemon_shutdown";
  last_stop?: StopReason;
  turn?: OpenTurn;
  /** The last turn, if it was interrupted and may continue. */
  cut?: OpenTurn;
  /** Tokens of the conversation and their limit; undefined before the first answer. */
  context?: { used: number; limit: number };
  /** Set when `cost_usd` lacks calls of unknown price. */
  unpriced?: true;
  lanes: Lane[];
  pending_approvals: PendingApproval[];
  /** Repairs of criteria, the latest change last. */
  descents: Descent[];
  /** Rules allowed with `allow_always`. */
  allowed: string[];
  /** Facts the model was told, by name. */
  facts: Record<string, string>;
  /** The model's plan and progress. */
  plan: PlanStep[];
  /** Oldest first. */
  background: BackgroundItem[];
  /** Rules that the model was told, and unreadable files. */
  rules: { files: RulesFile[]; skipped: SkippedRules[] };
  /** The last {@linkcode SENT_KEPT} client_message_ids, with the answers to them. */
  sent: Map<string, { message_id: string; seq: number }>;
  undo: UndoState;
}

export interface FileTurn {
  turn_id: string;
  /** seq of the turn's start. */
  seq: number;
  message_id: string;
  at: string;
  before: string;
  /** Missing while the turn runs, or if it was cut off. */
  after?: string;
  /** The rewind that undid its changes. */
  undone_by?: string;
}

export interface Rewound {
  rewind_id: string;
  seq: number;
  /** seq of the message before which it went; everything from there on is undone. */
  to_seq: number;
  message_id: string;
  /** The files before and after, unless it left them. */
  files?: { from: string; to: string };
  conversation: boolean;
  undone?: boolean;
}

/** A range of events outside the conversation, inclusive. */
interface TakenBack {
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
  /** The last recorded state of the files. */
  last?: string;
  /** Why no states of the files are kept. */
  problem?: string;
}

export function stateToCheckpoint({ sent, ...state }: SessionState): CheckpointState {
  return { ...state, sent: [...sent] };
}
