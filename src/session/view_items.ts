/** What a person is shown of a session: the items of its conversation, and how they change. */
import type { Attachment } from "../protocol/attachments.ts";
import type { Decision, EventData, StopReason } from "../protocol/events.ts";
import type { PlanStep } from "../protocol/plan_text.ts";

export interface Shown {
  /** Stays the same for as long as the item is there. */
  key: string;
  /** Of the event that it began with; of what a checkpoint keeps, where it has one, else 0. */
  seq: number;
  at: string;
  /** Grows with every change. */
  revision: number;
}

/** A message of the person. */
export interface UserItem extends Shown {
  kind: "user";
  text: string;
  /** Absent in what retention has rewritten: such a message cannot be gone back to. */
  message_id?: string;
  attachments?: readonly Attachment[];
  client_message_id?: string;
  /** It came during a turn, and no model call has seen it. */
  waits?: boolean;
}

/** What the model said in one step. */
export interface TextItem extends Shown {
  kind: "text";
  text: string;
}

/** What the model thought before it went on. */
export interface ThoughtItem extends Shown {
  kind: "thought";
  text: string;
  /** When it was over; absent while it goes on. */
  until?: string;
}

/** A question about an item: whether a call may be made, or what the model asks the person. */
export interface Asked {
  approval_id: string;
  /** Nobody has answered it, and it can still be answered. */
  waits: boolean;
  /** Absent when it went away unanswered. */
  decision?: Decision;
}

export interface ToolItem extends Shown {
  kind: "tool";
  call_id: string;
  tool: string;
  args: unknown;
  /** Where its output goes while it runs, once it runs for long. */
  lane_id?: string;
  asked?: Asked;
  outcome?: ToolOutcome;
}

export interface ToolOutcome {
  ok: boolean;
  output: string;
  truncated: boolean;
  /** Without the wait for an approval. Absent in what retention has rewritten. */
  duration_ms?: number;
  /** Of a command that ran to its end. */
  exit_code?: number;
  attachments?: readonly Attachment[];
}

/** A question that no call of the conversation is about. */
export interface QuestionItem extends Shown {
  kind: "question";
  request: EventData["approval.requested"];
  asked: Asked;
}

/** What a note is about, where a face tells it apart. */
export type NoteTopic = "answer" | "settings" | "context" | "undo" | "summary";

/** How a turn ended, and what went wrong. */
export interface TurnEnd {
  stop_reason: StopReason;
  error?: string;
}

/** Something that happened to the session. */
export interface NoteItem extends Shown {
  kind: "note";
  topic?: NoteTopic;
  tone: "plain" | "warning" | "error";
  /** In the words of a terminal: it begins with a small letter where it is svc's own. */
  text: string;
  /** Of the end of a turn. */
  end?: TurnEnd;
  /** The rewind that it is about; it can be undone while it is the last one. */
  rewind_id?: string;
  /** The turn that it says was interrupted can be continued. */
  may_continue?: boolean;
}

export type Item = UserItem | TextItem | ThoughtItem | ToolItem | QuestionItem | NoteItem;

/**
 * A change of what is shown; an item is the same object for as long as it is there, and has all of
 * its event's changes when the first of them is told.
 */
export type Change =
  | { type: "added"; item: Item }
  /** Text was added at its end. */
  | { type: "grew"; item: TextItem | ThoughtItem; text: string }
  | { type: "changed"; item: Item }
  /** It is void: the model says it again, or the person has taken the message back. */
  | { type: "removed"; item: Item }
  /** A question waits; its item was added before. */
  | { type: "asked"; item: ToolItem | QuestionItem; request: EventData["approval.requested"] }
  /** A question waits no longer; its item has the answer. */
  | {
    type: "settled";
    item: ToolItem | QuestionItem;
    asked: Asked;
    request: EventData["approval.requested"];
  }
  /** A turn has ended; where that was not well, there is a note on it. */
  | { type: "turn_ended"; seq: number; end: TurnEnd }
  /** Output of a lane beside the main one; as {@linkcode EventData} has it in lane.delta. */
  | { type: "lane_output"; lane_id: string; text: string; redraws?: number }
  /** The whole plan. */
  | { type: "plan"; steps: readonly PlanStep[] }
  /** What has `to_seq` or a later seq, below `seq`, is not shown; or it is shown again. */
  | { type: "rewound"; seq: number; rewind: EventData["session.rewound"] };
