import type { Decision, Delivery, RuleScope } from "../../protocol/events.ts";
import type { PersonAnswer } from "../../protocol/person_question.ts";
import type { Question } from "../../session/question.ts";
import type { ExportCommand } from "../chat_commands/export_command.ts";
import type { SettingCommand } from "../chat_commands/setting_command.ts";
import type { Pasted } from "./pasted_paths.ts";
import type { UndoCommand } from "../chat_commands/undo_command.ts";

/** An action of a key outside the model. */
export type Effect =
  | {
    type: "send";
    text: string;
    client_message_id: string;
    delivery?: Delivery;
    /** Keys of its files. */
    files?: string[];
    /** Whether it is a command of the person, after its first character. */
    run?: true;
  }
  | {
    type: "approve";
    approval_id: string;
    decision: Decision;
    question: Question;
    always?: { rule: string; scope: RuleScope };
    message?: string;
  }
  /** Answers a question to the person; without an answer it is skipped. */
  | { type: "answer"; approval_id: string; answer?: PersonAnswer; question: Question }
  | { type: "cancel" | "compact" | "continue" | "pause" | "resume" | "kill" | "withdraw" }
  | { type: "setting"; command: SettingCommand }
  | { type: "undo"; command: UndoCommand }
  | { type: "export"; command: ExportCommand }
  /** Turns the keys of vi on or off, or says whether they are on. */
  | { type: "vi"; value: string }
  | { type: "kill_lane"; lane_id: string }
  | { type: "pin_lane"; lane_id: string; pinned: boolean }
  /** Requests a lane's output from before this model existed. */
  | { type: "load_lane"; lane_id: string }
  /** Requests the commands from files, for the help. */
  | { type: "load_commands" }
  /** Looks for what the person said, in all sessions. */
  | { type: "search"; query: string }
  /** Takes a found message. */
  | { type: "take_found"; session_id: string; seq: number }
  /** Attaches the files of pasted paths. */
  | { type: "attach"; pasted: Pasted }
  /** Attaches the image of the clipboard. */
  | { type: "paste_image" }
  /** Opens the message in the person's editor. */
  | { type: "editor" }
  | { type: "quit" | "redraw" | "suspend" };
