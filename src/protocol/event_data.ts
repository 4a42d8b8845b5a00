/**
 * What happens in a session (contract.md section 5). An event is written to the journal before
 * anyone sees it; the state of a session is a fold over its events.
 */

import type * as z from "zod";
import type { Attachment } from "./attachments.ts";
import type { Effort } from "./effort.ts";
import type { PersonAnswer, Unanswered } from "./person_question.ts";
import type { PlanStep } from "./plan_text.ts";
import type { StopReason } from "./stop_reasons.ts";
import type {
  fileChangeSchema,
  rulesFileSchema,
  skippedRulesSchema,
  turnUsageSchema,
} from "./schemas/session.ts";

export type Approval = "auto" | "ask" | "read_only";
/** Whether a session may use the tools of trusted servers (product.md, Tool-protocol catalog). */
export type Trust = "trusted" | "untrusted";
export type Decision = "allow" | "allow_always" | "deny";
export type { StopReason };
/** Where a rule that a person chose to keep holds. */
export type RuleScope = "session" | "directory" | "everywhere";
export type LaneKind = "main" | "tool" | "mission_task" | "lobe" | "router";
/** How much a note matters. */
export type Severity = "info" | "warning" | "error";
export type LaneStatus = "pending" | "running" | "blocked" | "done" | "errored" | "cancelled";

/** Steps of repairing a criterion that failed, T1 intent match to T8 soft pass (contract.md section 4). */
export type Tier = "T1" | "T2" | "T3" | "T4" | "T5" | "T6" | "T7" | "T8";
export type TierStatus = "pending" | "running" | "passed" | "failed";

/** Input and output tokens of a turn. `tokens_cached` is the part of `tokens_in` read from a cache. */
export type TurnUsage = z.output<ReturnType<typeof turnUsageSchema>>;

/** What may come with the text of a message. */
export type SendOptions = Omit<EventData["user.message"], "message_id" | "text">;

/** Limits of the turn that a message starts; the session's own budget holds as well. */
export type TurnLimits = Omit<SendOptions, "client_message_id" | "attachments">;

export interface ContentBlock {
  type: "text";
  text: string;
}

/** What {@linkcode applyToState} had made of the events that a checkpoint stands for. */
export type CheckpointState = Record<string, unknown>;
/** What the transcript had made of them. */
export type CheckpointTranscript = Record<string, unknown>;

/** A file of rules that a session's model was told. */
export type RulesFile = z.output<ReturnType<typeof rulesFileSchema>>;

/** A file of rules that was not told, and why. */
export type SkippedRules = z.output<ReturnType<typeof skippedRulesSchema>>;

/** A mission at its beginning; the figures count what its spec has. */
interface MissionBegin {
  mission_id: string;
  name: string;
  tasks: number;
  criteria: number;
}

/** Why a turn that was cut off has to be taken up again. */
export type CutBy = "stop" | "crash" | "asked";

/** A call as a model made it. */
export interface AnsweredCall {
  call_id: string;
  tool: string;
  args: unknown;
  /** What the provider wants back with the call. */
  echo?: Record<string, unknown>;
  written?: WrittenCall;
}

/** A call as its model wrote it, where svc has read it differently, and how. */
export interface WrittenCall {
  tool: string;
  args: unknown;
  notes: readonly string[];
}

/** Characters of a text that is told to a model, with what separates them from the next. */
export interface ToldPart {
  /** The file or the fact that they are about. */
  about: string;
  from: number;
  to: number;
}

/** How a conversation was shortened. The later input of the model depends on this only. */
export interface Compacted {
  /**
   * Its limit was near, the provider refused it as too long, somebody asked, or its images and
   * documents were too many or refused.
   */
  reason: "limit" | "too_long" | "asked" | "attachments";
  /** Tokens before and after, by estimate. */
  tokens_before: number;
  tokens_after: number;
  /** The last seq that the estimates take in. */
  seen_seq: number;
  /** Images and documents from the first to the second seq are left out; a line stands for each. */
  attachments?: { from_seq: number; to_seq: number; refused?: true };
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
  /** Rules and facts that svc has told again since are left out. */
  told_again?: true;
  /** Longer messages and outputs among the rest are cut to so many characters. */
  text_max?: number;
  /** The rules and facts that svc told are cut to so many characters. */
  told_max?: number;
  /** The limit that the provider named when it refused. */
  learned?: { model: string; tokens: number };
}

/**
 * What tells a directory from others for as long as it is on its file system, whatever its path.
 */
export interface DirectoryIdentity {
  dev: number;
  ino: number;
  /** When it was made, Unix milliseconds; missing where the file system does not keep that. */
  made_ms?: number;
}

/** What a session knows that belongs to its conversation. */
export interface ConversationState {
  messages_count: number;
  facts: Record<string, string>;
  plan: PlanStep[];
  rules: { files: RulesFile[]; skipped: SkippedRules[] };
  context?: { used: number; limit: number };
}

/** The result of a call. */
interface CallEnd {
  /** The lane of the subagent that made the call. */
  lane_id?: string;
  call_id: string;
  tool: string;
  ok: boolean;
  duration_ms: number;
  output: string;
  truncated: boolean;
  /** Images and documents that the model receives with the output. */
  attachments?: Attachment[];
  /** Present for a command that finished. */
  exit_code?: number;
}

/** The fields of each event type. */
export interface EventData {
  /** The session begins. */
  "session.created": {
    workdir: string;
    model: string;
    title: string;
    approval: Approval;
    effort?: Effort;
    budget_usd?: number;
    /** Journals from before it was recorded have none: those sessions are trusted. */
    trust?: Trust;
    /** The name of a skill that its model is told at once. */
    skill_pack?: string;
    /** The title is the directory's name: the first message, and then a model, may replace it. */
    untitled?: true;
    /** What `workdir` is; journals from before it was recorded have none. */
    directory?: DirectoryIdentity;
  };
  /** The session's directory is at another path, or the session works in another one. */
  "session.moved": {
    workdir: string;
    /** Where it was before. */
    from: string;
    directory?: DirectoryIdentity;
    /** `svc` where the directory was found by what it is. */
    by: string;
    /** Another directory is at the path where the session's own was. */
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
    /** Whether lists show it first, and whether they leave it out until it gets a message. */
    pinned?: boolean;
    archived?: boolean;
    by: string;
  };
  /** A message was accepted; with one in flight it steers the turn. */
  "user.message": {
    message_id: string;
    text: string;
    client_message_id?: string;
    attachments?: Attachment[];
    /** Limits of the turn that the message starts: model calls, and USD. */
    max_steps?: number;
    max_usd?: number;
  };
  /** Messages were taken back that no model call has seen: they are not answered. */
  "user.withdrawn": { messages: { message_id: string; seq: number }[]; by: string };
  /** A turn begins. */
  "turn.started": { turn_id: string; model: string };
  /**
   * A turn that was cut off goes on: after a stop of the daemon, after its crash, or because a person
   * asked for it. What the model was still saying is void, as before a retry.
   */
  "turn.continued": { turn_id: string; after: CutBy };
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
  };
  /** A tool call has ended. */
  "session.tool_completed": CallEnd;
  /** A call waits for a decision, or for the person's answer to a question. */
  // fields-ok: the reference lists the fields of events from this file
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
    /** Rules that may be kept instead, the narrowest first; see docs/how-to/permissions.md. */
    choices?: string[];
    /** What the call changes in files, as they are now; long ones are cut. */
    changes?: z.output<ReturnType<typeof fileChangeSchema>>[];
    /** Of a question to the person, which `args` has. */
    kind?: "question";
  };
  /** A decision was made, or a question was answered. */
  "approval.resolved": {
    approval_id: string;
    decision: Decision;
    /** The door or the face that it was answered through; `svc` for one that was withdrawn. */
    by: string;
    /** Names what was shown to who answered, as their client says; see `session.approve`. */
    shown?: string;
    /** The rule that was kept in place of `rule`. */
    always?: { rule: string; scope: RuleScope };
    /** Of a question that was answered. */
    answer?: PersonAnswer;
    /** Of a question that was not answered. */
    unanswered?: Unanswered;
  };
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
    /** Present for a model call of a subagent, which counts towards the turn. */
    in_turn?: true;
    /** The model that was called; without it, the session's. */
    model?: string;
    /** The model has no known price: the cost is not 0, although `usd_delta` is. */
    unpriced?: true;
    /**
     * How the answer ended and the calls in it, unless it is text alone that has come to its end. A
     * daemon that takes the turn over knows from it what is still to be done.
     */
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
    /** Its name in the session's store; missing when it could not be kept. */
    state?: string;
    /** Files that are not in it, the first ones; ignored files are not listed. */
    excluded?: { path: string; reason: string }[];
    excluded_count?: number;
    /** Why it could not be kept. */
    problem?: string;
  };
  /** Files or conversation were brought back to what they were before a message. */
  "session.rewound": {
    rewind_id: string;
    /** The message. */
    message_id: string;
    /** Its seq: what has this or a later seq was taken back. */
    to_seq: number;
    by: string;
    /** The states of the files before and after it, if it was about them. */
    files?: { from: string; to: string; changed: number };
    /** What the session knew then, if it was about the conversation. */
    conversation?: ConversationState;
    /** The rewind that this one undoes. */
    undo_of?: string;
  };
  /** The session began as a copy of another one's conversation. */
  "session.forked": { from_session_id: string; from_seq: number; message_id?: string };
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
  /** A subagent has started. It does a task for a call, with a conversation of its own. */
  "subagent.started": {
    lane_id: string;
    /** The call that it does the task for. */
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
    /** The call that it did the task for. */
    call_id: string;
    stop_reason: StopReason;
    /** Its answer, or what it said last. */
    message: string;
    error?: string;
    usage: TurnUsage;
  };
  /** One of the operator's hooks made a decision, added text for the model, or failed. */
  "hook.ran": {
    /** The event that it ran on. */
    on: string;
    program: string;
    /** The call that it was about. */
    call_id?: string;
    decision?: "allow" | "ask" | "deny";
    reason?: string;
    /** Text for the model. */
    context?: string;
    /** Why it failed. */
    problem?: string;
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
  "lane.delta": {
    lane_id: string;
    delta_seq: number;
    content_block: ContentBlock;
    /**
     * The text takes the place of so many lines at the end of what the lane has said, the one that has
     * not ended among them.
     */
    redraws?: number;
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
    /** The model that answers the rest of the turn because the previous one failed. */
    fallback?: string;
    /** Of a published note ({@linkcode PUBLISHED}). */
    note?: { tags: string[]; severity: Severity; by: string };
    /** All files that run later and were written, by what runs them. */
    files?: { runner: string; new: string[]; changed: string[] }[];
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
    /** Where the facts stand in it. */
    parts?: ToldPart[];
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
    /** Where the rules of each file stand in it. */
    parts?: ToldPart[];
  };
  /** The model has changed its plan; this is all of it. */
  "plan.changed": { steps: PlanStep[] };
  /** A command was started in the background. */
  "background.started": {
    command_id: string;
    /** Its beginning, on one line. */
    command: string;
    call_id?: string;
  };
  /** A command in the background has ended. */
  "background.ended": {
    command_id: string;
    command: string;
    reason: "exited" | "failed" | "timeout" | "stopped" | "session_ended" | "daemon_stopped";
    exit_code?: number;
    /** The signal that ended it. */
    signal?: string;
    /** Who stopped it: the door, or `model`. */
    by?: string;
    /** Bytes that it wrote. */
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

/** An event as the journal has it. */
export type SessionEvent = {
  [T in EventType]: { seq: number; at: string; type: T; data: EventData[T] };
}[EventType];
