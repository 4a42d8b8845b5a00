import type { Decision, Delivery, RuleScope } from "../../protocol/events.ts";
import type { PersonAnswer } from "../../protocol/person_question.ts";
import type { Question } from "../../session/question.ts";
import type { Token } from "../../base/mention.ts";
import type { Attachment } from "../../protocol/attachments.ts";
import type { Params } from "../verb_types.ts";
import type { ExportCommand } from "../chat_commands/export_command.ts";
import type { SettingCommand } from "../chat_commands/setting_command.ts";
import type { Pasted } from "./pasted_paths.ts";
import type { UndoCommand } from "../chat_commands/undo_command.ts";

/** The lists that there are. */
export type PickerKind =
  | "palette"
  | "sessions"
  | "models"
  | "approval"
  | "effort"
  | "rewind"
  | "changes"
  | "providers"
  | "export"
  | "theme";

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
  /** Shows the theme, or changes it. */
  | { type: "theme"; name: string }
  /** Turns the keys of vi on or off, or says whether they are on. */
  | { type: "vi"; value: string }
  | { type: "kill_lane"; lane_id: string }
  | { type: "pin_lane"; lane_id: string; pinned: boolean }
  /** Requests a lane's output from before this model existed. */
  | { type: "load_lane"; lane_id: string }
  /** Requests the commands from files, for the help. */
  | { type: "load_commands" }
  /** Asks what completes a word. */
  | { type: "suggest"; token: Token }
  /** Loads the entries of a picker that was opened. */
  | { type: "load_picker"; kind: PickerKind }
  /** Finds sessions in which something was said, for the picker of sessions. */
  | { type: "search_said"; query: string }
  /** Loads what the picker shows of a session. */
  | { type: "preview"; session_id: string }
  /** Finds out what going back to a message would change, and asks what of it to do. */
  | ({ type: "plan_rewind" } & Rewound)
  | (
    & { type: "rewind"; what: NonNullable<RewindParams["what"]>; force: RewindParams["force"] }
    & Rewound
  )
  /** Shows what was changed in a file. */
  | { type: "show_change"; path: string }
  /** Saves an API key and takes a model of its provider. */
  | { type: "save_key"; provider: string; key: string }
  /** Logs in to a provider with the browser. */
  | { type: "login"; provider: string }
  /** Looks for models on this machine, and offers the ways to one. */
  | { type: "find_models" }
  /** Shows another session in this terminal. */
  | { type: "open_session"; session_id: string }
  /** Shows a new session in this terminal. */
  | { type: "new_session" }
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

type RewindParams = Params<"session.rewind">;

/** A message to which the session goes back. */
interface Rewound {
  message_id: string;
  text: string;
  attachments?: readonly Attachment[];
}

/** Effects of menus and pickers, which `picker_effects.ts` carries out. */
const TYPES = [
  "suggest",
  "load_picker",
  "search_said",
  "preview",
  "plan_rewind",
  "rewind",
  "show_change",
  "save_key",
  "login",
  "find_models",
  "open_session",
  "new_session",
] as const;

export type PickerEffect = Extract<Effect, { type: typeof TYPES[number] }>;

/** Whether an effect is one of a menu or a picker. */
export function isPickerEffect(effect: Effect): effect is PickerEffect {
  return TYPES.some((it) => it === effect.type);
}
