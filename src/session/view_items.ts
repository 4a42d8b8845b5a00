/** Items of a session's view, and their changes. */
import type { FileChange } from "../base/edits/changes.ts";
import type { Attachment } from "../protocol/attachments.ts";
import type { Decision, Delivery, EventData } from "../protocol/events.ts";
import type { TurnEnd } from "../protocol/note_text.ts";
import type { PlanStep } from "../protocol/plan_text.ts";

export interface Shown {
  /** Stays the same for the item's lifetime, also where a checkpoint has taken its events' place. */
  key: string;
  /** Of its first event; from a checkpoint, if known, else 0. */
  seq: number;
  at: string;
  revision: number;
}

export interface UserItem extends Shown {
  kind: "user";
  text: string;
  /** Absent after retention: such a message is no rewind target. */
  message_id?: string;
  attachments?: readonly Attachment[];
  client_message_id?: string;
  /** Sent while the session was at work, and not seen by a model call yet. */
  waits?: boolean;
  /** How it reaches the model while it waits. */
  delivery?: Delivery;
  /** Whether it waits for a turn of its own; with that, another item takes its place. */
  queued?: boolean;
}

/** The model's text in one step. */
export interface TextItem extends Shown {
  kind: "text";
  text: string;
}

/** The model's reasoning. */
export interface ThoughtItem extends Shown {
  kind: "thought";
  text: string;
  /** End of the reasoning; absent while it lasts. */
  until?: string;
}

/** A question about a call, or one from the model. */
export interface Asked {
  approval_id: string;
  /** Whether it can still be answered. */
  waits: boolean;
  /** Absent if it ended unanswered. */
  decision?: Decision;
}

export interface ToolItem extends Shown {
  kind: "tool";
  call_id: string;
  tool: string;
  args: unknown;
  /** The lane of its output, once it runs for long. */
  lane_id?: string;
  asked?: Asked;
  outcome?: ToolOutcome;
  /** The command that it started in the background; it runs on after the call. */
  background?: BackgroundWork;
}

/** A command in the background, at the call that started it. */
export interface BackgroundWork {
  command_id: string;
  started_at: string;
  /** Its end, and when that was. */
  ended?: EventData["background.ended"];
  ended_at?: string;
}

export interface ToolOutcome {
  ok: boolean;
  output: string;
  truncated: boolean;
  /** Without the wait for an approval. Absent after retention. */
  duration_ms?: number;
  /** Of a command that ended. */
  exit_code?: number;
  /** Of a command: characters that are not plain (`base/looks.ts`). */
  looks?: readonly number[];
  /** What it has changed in files, where its arguments do not show all. Absent after retention. */
  changes?: readonly FileChange[];
  attachments?: readonly Attachment[];
}

/** A question without a call in the conversation. */
export interface QuestionItem extends Shown {
  kind: "question";
  request: EventData["approval.requested"];
  asked: Asked;
}

export type NoteTopic = "answer" | "settings" | "context" | "undo" | "summary";

export interface NoteItem extends Shown {
  kind: "note";
  topic?: NoteTopic;
  tone: "plain" | "warning" | "error";
  /** In the words of a terminal; svc's own texts begin with a small letter. */
  text: string;
  /** Set for the end of a turn. */
  end?: TurnEnd;
  /** Its rewind, which can be undone while it is the last one. */
  rewind_id?: string;
  /** Whether the interrupted or parked turn can continue. */
  may_continue?: boolean;
  /** Set for a parked turn: when it goes on by itself. */
  parked_until?: string;
}

export type Item = UserItem | TextItem | ThoughtItem | ToolItem | QuestionItem | NoteItem;

/** A change of the view. Items keep their identity, and already have all changes of their event. */
export type Change =
  | { type: "added"; item: Item }
  /** Text was appended. */
  | { type: "grew"; item: TextItem | ThoughtItem; text: string }
  | { type: "changed"; item: Item }
  /** A call's command in the background has started or ended; the call itself is as it was. */
  | { type: "background"; item: ToolItem }
  /** Void: the model says it again, or the message was withdrawn. */
  | { type: "removed"; item: Item }
  /** A question is pending; its item was added before. */
  | { type: "asked"; item: ToolItem | QuestionItem; request: EventData["approval.requested"] }
  /** A question is no longer pending. */
  | {
    type: "settled";
    item: ToolItem | QuestionItem;
    asked: Asked;
    request: EventData["approval.requested"];
  }
  /** A turn ended; a note tells if it went wrong. */
  | { type: "turn_ended"; seq: number; end: TurnEnd }
  /** Output of another lane; see {@linkcode EventData} for lane.delta. */
  | { type: "lane_output"; lane_id: string; text: string; redraws?: number }
  | { type: "plan"; steps: readonly PlanStep[] }
  /** Items from `to_seq` up to `seq` are hidden, or shown again. */
  | { type: "rewound"; seq: number; rewind: EventData["session.rewound"] };
