/**
 * Events of a session (contract.md section 5). An event is journalled before clients see it; a
 * session's state is a fold over its events.
 */

import type * as z from "zod";
import type { AddedDirectory } from "./added_directory.ts";
import type { Approval } from "./approval.ts";
import type { Attachment } from "./attachments.ts";
import type { Effort } from "./effort.ts";
import type { Network } from "./network.ts";
import type { PersonAnswer, Unanswered } from "./person_question.ts";
import type { PlanStep } from "./plan_text.ts";
import type { StopReason } from "./stop_reasons.ts";
import type {
  fileChangeSchema,
  rulesFileSchema,
  skippedRulesSchema,
  turnUsageSchema,
} from "./schemas/session.ts";

export type { Approval };
/** Decides about tools of trusted servers (product.md, Tool-protocol catalog). */
export type Trust = "trusted" | "untrusted";
export type Decision = "allow" | "allow_always" | "deny";
export type { StopReason };
/** Where a kept rule applies. */
export type RuleScope = "session" | "directory" | "everywhere";
export type LaneKind = "main" | "tool" | "mission_task" | "lobe" | "router";
export type Severity = "info" | "warning" | "error";
export type LaneStatus = "pending" | "running" | "blocked" | "done" | "errored" | "cancelled";

/** Repair steps of a criterion, T1 intent match to T8 soft pass (contract.md section 4). */
export type Tier = "T1" | "T2" | "T3" | "T4" | "T5" | "T6" | "T7" | "T8";
export type TierStatus = "pending" | "running" | "passed" | "failed";

export type TurnUsage = z.output<ReturnType<typeof turnUsageSchema>>;

/** Options of a message. */
export type SendOptions = Omit<SentMessage, "message_id" | "text">;

/** Limits of the turn that a message starts, in addition to the session's budget. */
export type TurnLimits = Pick<LaterMessage, "max_steps" | "max_usd">;

export interface ContentBlock {
  type: "text";
  text: string;
}

/** The state from {@linkcode applyToState} in a checkpoint. */
export type CheckpointState = Record<string, unknown>;
/** The transcript in a checkpoint. */
export type CheckpointTranscript = Record<string, unknown>;

/** A file of rules for the model. */
export type RulesFile = z.output<ReturnType<typeof rulesFileSchema>>;

/** A file of rules that was left out. */
export type SkippedRules = z.output<ReturnType<typeof skippedRulesSchema>>;

/** A new mission, with the size of its spec. */
interface MissionBegin {
  mission_id: string;
  name: string;
  tasks: number;
  criteria: number;
}

/** How a message reaches a model at work: at the turn's next step, or in a later turn. */
export type Delivery = "steer" | "queue";

/** A message that waits for a turn of its own. */
export interface LaterMessage {
  message_id: string;
  text: string;
  client_message_id?: string;
  attachments?: Attachment[];
  /** Limits of its turn: model calls, and USD. */
  max_steps?: number;
  max_usd?: number;
  /** The person's own command, after a `!`: its turn runs it, and asks no model. */
  run?: true;
}

/** A message for the next model call. */
interface SentMessage extends LaterMessage {
  /** How it reaches the model; absent if it begins a turn. */
  delivery?: Delivery;
}

/** Why a turn has to be continued. */
export type CutBy = "stop" | "crash" | "limit" | "asked";

export interface AnsweredCall {
  call_id: string;
  tool: string;
  args: unknown;
  /** What the provider wants back with the call. */
  echo?: Record<string, unknown>;
  written?: WrittenCall;
}

/** The original of a call that svc corrected, with notes on that. */
export interface WrittenCall {
  tool: string;
  args: unknown;
  notes: readonly string[];
}

/** A range of a text for the model, with the separator after it. */
export interface ToldPart {
  /** A file or fact. */
  about: string;
  from: number;
  to: number;
}

/** How a conversation was shortened. The later input of the model depends on this only. */
export interface Compacted {
  /** Near the limit, refused as too long, asked for, or too many or refused attachments. */
  reason: "limit" | "too_long" | "asked" | "attachments";
  /** Estimates. */
  tokens_before: number;
  tokens_after: number;
  /** Last seq in the estimates. */
  seen_seq: number;
  /** Lines replace images and documents in this range. */
  attachments?: { from_seq: number; to_seq: number; refused?: true };
  /** Notes replace outputs of calls up to this seq. */
  outputs_seq?: number;
  /** The summary replaces items up to this seq. */
  until_seq?: number;
  /** Empty if there is a `problem`. */
  summary?: string;
  problem?: string;
  /** Changed files in the part left out. */
  files?: string[];
  /** Messages that stay nevertheless. */
  kept_seqs?: number[];
  /** Repeated rules and facts are left out. */
  told_again?: true;
  /** Characters to which other messages and outputs are cut. */
  text_max?: number;
  /** Characters to which rules and facts are cut. */
  told_max?: number;
  /** The limit in the provider's refusal. */
  learned?: { model: string; tokens: number };
}

/** Identifies a directory on its file system, whatever its path. */
export interface DirectoryIdentity {
  dev: number;
  ino: number;
  /** Creation time, Unix milliseconds, if the file system has it. */
  made_ms?: number;
}

/** The part of a session's state that a rewind of the conversation restores. */
export interface ConversationState {
  messages_count: number;
  facts: Record<string, string>;
  plan: PlanStep[];
  rules: { files: RulesFile[]; skipped: SkippedRules[] };
  context?: { used: number; limit: number };
}

interface CallEnd {
  /** The subagent's lane, if one made the call. */
  lane_id?: string;
  call_id: string;
  tool: string;
  ok: boolean;
  duration_ms: number;
  output: string;
  truncated: boolean;
  attachments?: Attachment[];
  /** Of a command that finished. */
  exit_code?: number;
  /**
   * Of a command that prints colours: runs of characters that are not plain, as start, length and look
   * of each. Looks are numbers: a colour from 0 to 7 (none, red, green, yellow, blue, magenta, cyan,
   * grey), plus 8 for bold, 16 for italic, 32 for underlined and 64 for inverse.
   */
  looks?: readonly number[];
  /**
   * Of a call that has changed files: the parts that differ, as they were and as they are, at most 64
   * kB. Missing where the arguments show all, as of a new file, and in old journals.
   */
  changes?: readonly z.output<ReturnType<typeof fileChangeSchema>>[];
}

/** The fields of each event type. */
export interface EventData {
  /** The session begins. */
  "session.created": {
    workdir: string;
    model: string;
    title: string;
    /** What a session that works for a mission is about: people see it instead of the title. */
    goal?: string;
    approval: Approval;
    effort?: Effort;
    budget_usd?: number;
    /** Missing in old journals, whose sessions are trusted. */
    trust?: Trust;
    /** Name of a skill that the model gets at once. */
    skill_pack?: string;
    /** Directories besides `workdir` that its tools may use. */
    added_dirs?: AddedDirectory[];
    network?: Network;
    /** The title is the directory's name; the first message or a model may replace it. */
    untitled?: true;
    /** The session is deleted when nobody follows it any more. */
    temporary?: true;
    /** Identifies `workdir`; missing in old journals. */
    directory?: DirectoryIdentity;
  };
  /** The session's directory is at another path, or the session works in another one. */
  "session.moved": {
    workdir: string;
    from: string;
    directory?: DirectoryIdentity;
    /** `svc` if it found the directory by its identity. */
    by: string;
    /** Another directory is at the old path. */
    replaced?: true;
  };
  /** What the session's directory is, where that was not recorded or is known by another device. */
  "session.located": { directory: DirectoryIdentity };
  /** A model has named the session. This has no effect if a person has given it a title. */
  "session.titled": { title: string };
  /** Settings of the session were changed; what is missing stays as it was. */
  "session.configured": {
    model?: string;
    approval?: Approval;
    /** From the next turn on. */
    effort?: Effort | "default";
    budget_usd?: number;
    title?: string;
    /** Whether lists show it first, or hide it until its next message. */
    pinned?: boolean;
    archived?: boolean;
    /** All directories besides its own from now on. */
    added_dirs?: AddedDirectory[];
    network?: Network | "default";
    by: string;
  };
  /** A message was accepted; with one in flight it steers the turn. */
  "user.message": SentMessage;
  /** A message waits for a turn of its own, after the running one: then it is a `user.message`. */
  "user.queued": LaterMessage;
  /** Messages were taken back that no model call has seen: they are not answered. */
  "user.withdrawn": {
    messages: { message_id: string; seq: number }[];
    by: string;
    /** The one message waits for a turn of its own from now on, instead of steering. */
    queued?: LaterMessage;
  };
  /** A turn begins. */
  "turn.started": {
    turn_id: string;
    model: string;
    /** The command of the person that it runs, instead of asking the model. */
    run?: string;
  };
  /**
   * A turn that was cut off or parked goes on: after a stop of the daemon, after its crash, at the end
   * of a limit, or because a person asked for it. What the model was still saying is void, as before a retry.
   */
  "turn.continued": { turn_id: string; after: CutBy };
  /** A provider's limit refuses the model call; the turn waits for its end, also over restarts. */
  "turn.parked": {
    turn_id: string;
    /** When it goes on by itself, RFC 3339. */
    until: string;
    /** What the provider said, or why it could not be reached. */
    reason: string;
  };
  /** Text of the main lane. */
  "session.delta": { turn_id: string; text: string };
  /** The model's reasoning before its answer, as far as its provider shows it. */
  "session.reasoning": { turn_id: string; text: string };
  /** A tool call begins. */
  "session.tool_started": {
    call_id: string;
    tool: string;
    args: unknown;
    lane_id: string;
    /** What the provider wants back with the call. */
    echo?: Record<string, unknown>;
    written?: WrittenCall;
    /** Set when the person makes the call, which no rule decides about, instead of the model. */
    by?: "person";
  };
  /** A tool call has ended. */
  "session.tool_completed": CallEnd;
  /** A call waits for a decision, or for the person's answer to a question. */
  // fields-ok: the reference lists the fields of events from this file
  "approval.requested": {
    approval_id: string;
    lane_id: string;
    call_id: string;
    tool: string;
    args: unknown;
    reason: string;
    /** What `allow_always` allows. */
    rule: string;
    /** Rules to keep instead, narrowest first; see docs/how-to/permissions.md. */
    choices?: string[];
    /** Changes to files as they are now; long ones are cut. */
    changes?: z.output<ReturnType<typeof fileChangeSchema>>[];
    /** For a question to the person, in `args`. */
    kind?: "question";
  };
  /** A decision was made, or a question was answered. */
  "approval.resolved": {
    approval_id: string;
    decision: Decision;
    /** The door or client; `svc` for a withdrawn one. */
    by: string;
    /** Names what the client showed; see `session.approve`. */
    shown?: string;
    /** The rule that was kept instead of `rule`. */
    always?: { rule: string; scope: RuleScope };
    /** What the person says with a denial, for the model. */
    message?: string;
    answer?: PersonAnswer;
    unanswered?: Unanswered;
  };
  /** A turn has ended. */
  "turn.completed": {
    turn_id: string;
    stop_reason: StopReason;
    message: string;
    usage: TurnUsage;
    error?: string;
    /** Messages up to this seq need no turn; default: those before the turn or seen by a call. */
    taken_seq?: number;
  };
  /** A model call was answered; what it cost. */
  "cost.tick": {
    usd_delta: number;
    tokens_in: number;
    tokens_out: number;
    tokens_cached: number;
    /** Last seq in the model call's input. */
    seen_seq: number;
    /** Token limit of the conversation; for the main lane. */
    context_limit?: number;
    /** Default: the main lane. */
    lane_id?: string;
    /** For a subagent's call, which counts towards the turn. */
    in_turn?: true;
    /** Default: the session's model. */
    model?: string;
    /** The price is unknown, so `usd_delta` is 0. */
    unpriced?: true;
    /** End and calls of the answer, unless it is just text; needed to continue the turn. */
    answered?: { reason: string; calls: AnsweredCall[] };
    /** What the provider wants back with an answer that has no calls. */
    echo?: Record<string, unknown>;
  };
  /** The session is paused. */
  "session.paused": { reason: "operator" | "daemon_shutdown" };
  /** A paused session goes on. */
  "session.resumed": { reason: "operator" | "daemon_started" };
  /** The session has ended for good. */
  "session.ended": { reason: "killed" | "completed" | "error" };
  /** The conversation that the model is given was made shorter; the journal keeps all of it. */
  "session.compacted": Compacted;
  /** The state of the directory's files was kept: before a turn's first write, or at its end. */
  "files.kept": {
    turn_id: string;
    moment: "before" | "after";
    /** Its name in the session's store, if it was kept. */
    state?: string;
    /** First files that are not in it, without ignored ones. */
    excluded?: { path: string; reason: string }[];
    excluded_count?: number;
    problem?: string;
  };
  /** Files or conversation were brought back to what they were before a message. */
  "session.rewound": {
    rewind_id: string;
    message_id: string;
    /** Events from this seq on are undone. */
    to_seq: number;
    by: string;
    /** States of the files before and after, if they changed. */
    files?: {
      from: string;
      to: string;
      changed: number;
      /** First files that were kept, because somebody else changed them since. */
      kept?: string[];
      kept_count?: number;
    };
    /** The restored state of the conversation, if that was rewound. */
    conversation?: ConversationState;
    /** The rewind that this one undoes. */
    undo_of?: string;
    /** The turn whose changes went back, and the file if it was only that one. */
    only?: { turn_id: string; path?: string };
  };
  /** The session began as a copy of another one's conversation. */
  "session.forked": { from_session_id: string; from_seq: number; message_id?: string };
  /** Stands for the events before it, which retention has rewritten. */
  "session.checkpoint": {
    state: CheckpointState;
    transcript: CheckpointTranscript;
    /** Ledger hash of the last replaced record. */
    chain: string;
  };
  /** The session was restored by another daemon. */
  "daemon.reloaded": { at: string; version: string };
  /** A failed criterion goes through a step of its repair. */
  // fields-ok: the reference lists the fields of events from this file
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
  /** A subagent has started. It does a task for a call, with a conversation of its own. */
  "subagent.started": {
    lane_id: string;
    /** The call with the task. */
    call_id: string;
    description: string;
    task: string;
    model: string;
    tools: "read" | "all";
  };
  /** A subagent has started a call. */
  "subagent.tool_started": { lane_id: string; call_id: string; tool: string; args: unknown };
  /** A call of a subagent has ended. */
  "subagent.tool_completed": CallEnd;
  /** A subagent has ended. */
  "subagent.completed": {
    lane_id: string;
    call_id: string;
    stop_reason: StopReason;
    /** Its answer, or last text. */
    message: string;
    error?: string;
    usage: TurnUsage;
  };
  /** A hook made a decision, changed a call, added text for the model, or failed. */
  "hook.ran": {
    on: string;
    program: string;
    /** The project's file that it is from; missing for a hook of the operator. */
    file?: string;
    call_id?: string;
    decision?: "allow" | "ask" | "deny";
    reason?: string;
    /** Arguments that replace those of the call with the same names. */
    args?: Record<string, unknown>;
    /** Text for the model. */
    context?: string;
    /** The failure. */
    problem?: string;
  };
  /** A lane opens. */
  "lane.created": {
    lane_id: string;
    kind: LaneKind;
    parent_lane_id?: string;
    label: string;
    started_at: string;
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
  "lane.delta": {
    lane_id: string;
    delta_seq: number;
    content_block: ContentBlock;
    /** Number of lines at the end of the earlier text, including an unfinished one, to replace. */
    redraws?: number;
    /** Characters of a command's output that are not plain, as in session.tool_completed. */
    looks?: readonly number[];
  };
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
    /** The model that replaces a failed one for the rest of the turn. */
    fallback?: string;
    /** Of a published note ({@linkcode PUBLISHED}). */
    note?: { tags: string[]; severity: Severity; by: string };
    /** Written files that other programs run later, by program. */
    files?: { runner: string; new: string[]; changed: string[] }[];
  };
  /** A lane was killed; lane.status follows. */
  "lane.killed": { lane_id: string; reason: string; actor: string };
  /** Where and how the session works, as its model is told: all of it at first, later what changed. */
  "context.told": {
    turn_id: string;
    /** All facts known to the model, by name. */
    facts: Record<string, string>;
    /** Verbatim in the next model call. */
    text: string;
    /** Positions of the facts. */
    parts?: ToldPart[];
  };
  /** The rules of the person and of the project that the model is told. */
  "rules.loaded": {
    turn_id: string;
    files: RulesFile[];
    skipped: SkippedRules[];
    /** Files whose rules no longer apply. */
    removed: string[];
    /** Verbatim in the next model call; empty if no file was readable. */
    text: string;
    /** Positions of the files' rules. */
    parts?: ToldPart[];
  };
  /** The model has changed its plan; this is all of it. */
  "plan.changed": { steps: PlanStep[] };
  /** A command was started in the background. */
  "background.started": {
    command_id: string;
    /** Its start, on one line. */
    command: string;
    call_id?: string;
  };
  /** A command in the background has ended. */
  "background.ended": {
    command_id: string;
    command: string;
    reason: "exited" | "failed" | "timeout" | "stopped" | "session_ended" | "daemon_stopped";
    exit_code?: number;
    signal?: string;
    /** Who stopped it: the door, or `model`. */
    by?: string;
    output_bytes?: number;
  };
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

export type SessionEvent = {
  [T in EventType]: { seq: number; at: string; type: T; data: EventData[T] };
}[EventType];
