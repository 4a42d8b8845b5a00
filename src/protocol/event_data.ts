/**
 * What happens in a session (contract.md section 5). An event is written to the journal before
 * anyone sees it; the state of a session is a fold over its events.
 */

import type { PlanStep } from "./plan_text.ts";

export type Approval = "auto" | "ask" | "read_only";
/** Whether a session may use the tools of trusted servers (product.md, Tool-protocol catalog). */
export type Trust = "trusted" | "untrusted";
export type Decision = "allow" | "allow_always" | "deny";
/** How a turn ended; `stop_reasons.ts` says what each means. */
export type StopReason =
  | "ok"
  | "cancelled"
  | "error"
  | "budget"
  | "critic"
  | "interrupted"
  | "length"
  | "filtered"
  | "refused"
  | "empty"
  | "loop"
  | "rate_limit";
export type LaneKind = "main" | "tool" | "mission_task" | "lobe" | "router";
/** How much a note matters. */
export type Severity = "info" | "warning" | "error";
export type LaneStatus = "pending" | "running" | "blocked" | "done" | "errored" | "cancelled";

/** Steps of repairing a criterion that failed, T1 intent match to T8 soft pass (contract.md section 4). */
export type Tier = "T1" | "T2" | "T3" | "T4" | "T5" | "T6" | "T7" | "T8";
export type TierStatus = "pending" | "running" | "passed" | "failed";

/** Input and output tokens of a turn. `tokens_cached` is the part of `tokens_in` read from a cache. */
export interface TurnUsage {
  tokens_in: number;
  tokens_out: number;
  tokens_cached: number;
  usd: number;
}

/** What may come with the text of a message. */
export type SendOptions = Omit<EventData["user.message"], "message_id" | "text">;

/** Limits of the turn that a message starts; the session's own budget holds as well. */
export type TurnLimits = Omit<SendOptions, "client_message_id">;

export interface ContentBlock {
  type: "text";
  text: string;
}

/** What {@linkcode applyToState} had made of the events that a checkpoint stands for. */
export type CheckpointState = Record<string, unknown>;
/** What the transcript had made of them. */
export type CheckpointTranscript = Record<string, unknown>;

/** A file of rules that a session's model was told. */
export interface RulesFile {
  /** Absolute real path. */
  path: string;
  bytes: number;
  /** Of its content: a file that changed is told again. */
  sha256: string;
  /** The file that imports it. */
  imported_by?: string;
}

/** A file of rules that was not told, and why. */
export interface SkippedRules {
  path: string;
  reason: string;
  /** The file that imports it. */
  imported_by?: string;
}

/** A mission at its beginning; the figures count what its spec has. */
interface MissionBegin {
  mission_id: string;
  name: string;
  tasks: number;
  criteria: number;
}

/** How a conversation was made shorter. What the model is given from then on follows from it alone. */
export interface Compacted {
  /** Its limit was near, the provider refused it as too long, or somebody asked. */
  reason: "limit" | "too_long" | "asked";
  /** Tokens before and after, by estimate. */
  tokens_before: number;
  tokens_after: number;
  /** The last seq that the estimates take in. */
  seen_seq: number;
  /** Outputs of calls up to this seq are left out; a note says how to read them again. */
  outputs_seq?: number;
  /** Items up to the one of this seq are left out, and the summary stands for them. */
  until_seq?: number;
  /** Empty when none could be made; `problem` says why. */
  summary?: string;
  problem?: string;
  /** Files that were changed in what is left out. */
  files?: string[];
  /** Messages in what is left out that are kept word for word. */
  kept_seqs?: number[];
  /** Longer messages and outputs among the rest are cut to so many characters. */
  text_max?: number;
  /** The limit that the provider named when it refused. */
  learned?: { model: string; tokens: number };
}

/** The fields of each event type. */
export interface EventData {
  /** The session begins. */
  "session.created": {
    workdir: string;
    model: string;
    title: string;
    approval: Approval;
    budget_usd?: number;
    /** Journals from before it was recorded have none: those sessions are trusted. */
    trust?: Trust;
  };
  /** Settings of the session were changed; what is missing stays as it was. */
  "session.configured": {
    model?: string;
    approval?: Approval;
    budget_usd?: number;
    title?: string;
    by: string;
  };
  /** A message was accepted; with one in flight it steers the turn. */
  "user.message": {
    message_id: string;
    text: string;
    client_message_id?: string;
    /** Limits of the turn that the message starts: model calls, and USD. */
    max_steps?: number;
    max_usd?: number;
  };
  /** A turn begins. */
  "turn.started": { turn_id: string; model: string };
  /** Text of the main lane. */
  "session.delta": { turn_id: string; text: string };
  /** A tool call begins. */
  "session.tool_started": {
    call_id: string;
    tool: string;
    args: unknown;
    lane_id: string;
    /** What the provider wants back with the call. */
    echo?: Record<string, unknown>;
  };
  /** A tool call has ended. */
  "session.tool_completed": {
    call_id: string;
    tool: string;
    ok: boolean;
    duration_ms: number;
    output: string;
    truncated: boolean;
    /** Of a command that ran to its end. */
    exit_code?: number;
  };
  /** A call waits for a decision. */
  "approval.requested": {
    approval_id: string;
    /** Who asks. */
    lane_id: string;
    call_id: string;
    tool: string;
    args: unknown;
    reason: string;
    /** What `allow_always` will let through from then on. */
    rule: string;
  };
  /** A decision was made. */
  "approval.resolved": { approval_id: string; decision: Decision; by: string };
  /** A turn has ended. */
  "turn.completed": {
    turn_id: string;
    stop_reason: StopReason;
    message: string;
    usage: TurnUsage;
    error?: string;
    /**
     * Messages up to this seq need no further turn. Without it, those from before the turn and those
     * that an answered model call has seen.
     */
    taken_seq?: number;
  };
  /** A model call was answered; what it cost. */
  "cost.tick": {
    usd_delta: number;
    tokens_in: number;
    tokens_out: number;
    tokens_cached: number;
    /** The last seq that the model call behind these figures was built from. */
    seen_seq: number;
    /** Tokens that the conversation may have; of the main lane's calls. */
    context_limit?: number;
    /** The lane whose call it was, when it was not the main one's. */
    lane_id?: string;
    /** The model that was called; without it, the session's. */
    model?: string;
  };
  /** The session is paused. */
  "session.paused": { reason: "operator" | "daemon_shutdown" };
  /** A paused session goes on. */
  "session.resumed": { reason: "operator" | "daemon_started" };
  /** The session has ended for good. */
  "session.ended": { reason: "killed" | "completed" | "error" };
  /** The conversation that the model is given was made shorter; the journal keeps all of it. */
  "session.compacted": Compacted;
  /** Stands for the events before it, which retention has rewritten. */
  "session.checkpoint": {
    state: CheckpointState;
    transcript: CheckpointTranscript;
    /** Ledger hash of the last record it stands for, so that the chain goes on. */
    chain: string;
  };
  /** The session was restored by another daemon. */
  "daemon.reloaded": { at: string; version: string };
  /** A failed criterion goes through a step of its repair. */
  "descent.tier_changed": {
    ac_id: string;
    tier: Tier;
    status: TierStatus;
    evidence_ref?: string;
    failure_class?: "code_bug" | "ac_bug" | "environment";
  };
  /** A mission begins. */
  "mission.created": MissionBegin;
  /** It goes on: with another daemon, or because it was asked to after a failure. */
  "mission.resumed": MissionBegin;
  /** A session begins to work on a task. */
  "mission.task_started": {
    mission_id: string;
    task_id: string;
    lane_id: string;
    /** The session that works on it. */
    session_id: string;
    attempt: number;
  };
  /** A task has ended. */
  "mission.task_completed": {
    mission_id: string;
    task_id: string;
    status: "completed" | "failed" | "cancelled";
    commit?: string;
    error?: string;
  };
  /** The work of a task conflicts with what others have merged. */
  "mission.conflict": { mission_id: string; task_id?: string; files: string[] };
  /** A mission has ended. */
  "mission.completed": {
    mission_id: string;
    status: "completed" | "failed" | "cancelled";
    error?: string;
  };
  /** A lane opens. */
  "lane.created": {
    lane_id: string;
    kind: LaneKind;
    parent_lane_id?: string;
    label: string;
    started_at: string;
    /** The tool call that runs in it. */
    call_id?: string;
  };
  /** A lane changes its status. */
  "lane.status": {
    lane_id: string;
    status: LaneStatus;
    prev_status: LaneStatus;
    reason: string;
    reason_code: string;
  };
  /** Text of a lane. */
  "lane.delta": { lane_id: string; delta_seq: number; content_block: ContentBlock };
  /** What a lane has spent. */
  "lane.cost": {
    lane_id: string;
    usd_delta: number;
    tokens_in: number;
    tokens_out: number;
    tokens_cached: number;
  };
  /**
   * A note for the person: why something is tried again, was left out, or was published. The model
   * reads it too if its `reason_code` is `model_told`.
   */
  "lane.note": {
    lane_id: string;
    text: string;
    reason_code: string;
    /** Of a published note ({@linkcode PUBLISHED}). */
    note?: { tags: string[]; severity: Severity; by: string };
  };
  /** A lane was killed; lane.status follows. */
  "lane.killed": { lane_id: string; reason: string; actor: string };
  /** Where and how the session works, as its model is told: all of it at first, later what changed. */
  "context.told": {
    turn_id: string;
    /** All that the model knows by now, by name. */
    facts: Record<string, string>;
    /** What the next model call is given, as it is. */
    text: string;
  };
  /** The rules of the person and of the project that the model is told. */
  "rules.loaded": {
    turn_id: string;
    files: RulesFile[];
    skipped: SkippedRules[];
    /** Files told before that no longer hold. */
    removed: string[];
    /** What the next model call is given, as it is; empty where no file could be read. */
    text: string;
  };
  /** The model has changed its plan; this is all of it. */
  "plan.changed": { steps: PlanStep[] };
  /** What a turn's first model call is given of the memory. */
  "memory.recalled": {
    turn_id: string;
    entries: { entry_id: string; category: string; scope: string }[];
    text: string;
  };
  /** The memory has a new or changed entry. */
  "memory.written": { entry_id: string; category: string; scope: string; content_sha: string };
}

export type EventType = keyof EventData;

/** An event as the journal has it. */
export type SessionEvent = {
  [T in EventType]: { seq: number; at: string; type: T; data: EventData[T] };
}[EventType];
