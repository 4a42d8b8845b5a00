/** Handles keys: a key changes the model and returns what the daemon must do. */
import { nextApproval } from "../../protocol/approval.ts";
import { CHAT_COMMANDS, type ChatCommand } from "../../protocol/chat_commands.ts";
import { type Delivery, MAIN_LANE } from "../../protocol/events.ts";
import { personCommand } from "../../protocol/person_command.ts";
import { exportCommand } from "../chat_commands/export_command.ts";
import { QUEUE_USAGE, queuedText } from "../chat_commands/queue_command.ts";
import { settingCommand } from "../chat_commands/setting_command.ts";
import { themeCommand } from "../chat_commands/theme_command.ts";
import { undoCommand } from "../chat_commands/undo_command.ts";
import { viCommand } from "../chat_commands/vi_command.ts";
import { inFirstRun } from "./first_run.ts";
import { helpRows } from "./help.ts";
import { expanded, plainText, rememberChips } from "./chips.ts";
import { filesIn } from "./files.ts";
import { remember } from "./history.ts";
import { clear, erase, insert, insertKey, moveLine, recall } from "./input.ts";
import { editWith } from "./input_keys.ts";
import { forgetEdits } from "./input_undo.ts";
import type { Key } from "./keys.ts";
import { inMenu, lookAtWord } from "./menu.ts";
import { type Focus, type Model, type Sending, shownLane } from "./model.ts";
import { workIds } from "./panels.ts";
import { pastedPaths } from "./pasted_paths.ts";
import { closePicker, inPicker, openPicker } from "./picker_keys.ts";
import { inSearch } from "./search.ts";
import { scrollBy, scrollToStart, type View } from "./scroll.ts";
import { addMessage } from "./transcript.ts";
import { answeredBy, answerTyped, inQuestion, takeBack, takeBackDenial } from "./question_keys.ts";
import type { Effect, PickerKind } from "./effect.ts";
import { inVi, viEscape, viSent } from "./vi.ts";

export interface PressContext {
  /** The current window of the transcript. */
  view: View;
  /** Creates a client_message_id. */
  newId(): string;
  /** Puts the name of this svc into the commands of a text. */
  named(text: string): string;
}

/** Handles a key. @returns the resulting actions, in order. */
export function press(model: Model, key: Key, context: PressContext): Effect[] {
  const leaving = model.leaving;
  model.leaving = false;
  model.notice = undefined;
  const escaped = model.escaped;
  model.escaped = false;
  if (model.search !== undefined) return inSearch(model, model.search, key);
  if (key.type === "named") {
    if (key.name === "ctrl-c") return interrupt(model, leaving);
    if (key.name === "ctrl-z") return [{ type: "suspend" }];
    if (key.name === "ctrl-l") return [{ type: "redraw" }];
  }
  if (model.picker !== undefined) return inPicker(model, key);
  if (key.type === "named") {
    if (key.name === "shift-tab") {
      const value = nextApproval(model.session.approval);
      return [{ type: "setting", command: { setting: "approval", value } }];
    }
  }
  if (model.help) return inHelp(model, key, context);
  if (key.type === "named") {
    const in_menu = inMenu(model, key.name);
    if (in_menu !== undefined) {
      return in_menu === "submit" ? submit(model, context) : lookAtWord(model);
    }
    if (key.name === "ctrl-p") return openPicker(model, "palette");
    if (everywhere(model, key.name, context)) return [];
    if (key.name === "escape") return viEscape(model) ? [] : goBack(model, escaped);
  }
  const char = key.type === "character" ? key.text : undefined;
  if (model.focus === "approval") {
    const effects = inQuestion(model, key);
    if (effects !== undefined) return effects;
  }
  if (key.type !== "named" && model.input.text === "") {
    model.input_answers = answeredBy(model);
    model.input_denies = false;
  }
  if (model.focus === "lanes") return inLanes(model, key, context);
  if (model.focus === "transcript" && key.type === "named") {
    if (key.name === "up") return scroll(model, context, -1);
    if (key.name === "down") return scroll(model, context, 1);
  }
  if (char !== undefined && model.input.text === "") {
    const chosen = inFirstRun(model, char, context.named);
    if (chosen !== undefined) return chosen;
    if (char === "?") {
      model.help = true;
      return [LOAD_COMMANDS];
    }
    const lane = /^[1-9]$/.test(char) ? model.lanes[Number(char) - 1] : undefined;
    if (lane !== undefined && model.lanes.length > 1) return showLane(model, lane.lane_id);
  }
  // Typing goes to the message, whatever has the focus.
  model.focus = "input";
  return inMessage(model, key, context);
}

/** Takes a key of the message, and looks at the word that it is in. */
function inMessage(model: Model, key: Key, context: PressContext): Effect[] {
  return [...inInput(model, key, context), ...lookAtWord(model)];
}

/** Scrolls the help, or closes it. */
export function inHelp(model: Model, key: Key, { view: { cols, height } }: PressContext): Effect[] {
  const last = Math.max(helpRows(model, cols).length - height, 0);
  const page = Math.max(height - 1, 1);
  const by: Record<string, number> = {
    up: -1,
    down: 1,
    pageup: -page,
    pagedown: page,
    home: -last,
    end: last,
  };
  const rows = key.type === "named" ? by[key.name] : undefined;
  if (rows === undefined) model.help = false;
  model.help_row = rows === undefined ? 0 : Math.min(Math.max(model.help_row + rows, 0), last);
  return [];
}

function interrupt(model: Model, leaving: boolean): Effect[] {
  if (model.picker !== undefined) {
    closePicker(model);
    return [];
  }
  if (leaving) return [{ type: "quit" }];
  model.leaving = true;
  model.notice = "Ctrl-C again leaves; the session continues";
  if (model.session.turn) return [{ type: "cancel" }];
  const { input } = model;
  if (input.text !== "") {
    rememberChips(input);
    remember(model, expanded(input, input.text));
    model.notice = "Ctrl-C again leaves; Up or Ctrl-_ brings the message back";
  }
  clear(input);
  return [];
}

/**
 * Esc: closes what is open; with nothing open it cancels the turn, or a second one goes back in the
 * conversation.
 */
function goBack(model: Model, escaped: boolean): Effect[] {
  const [approval] = model.approvals;
  if (takeBackDenial(model) || (model.focus === "approval" && takeBack(approval))) return [];
  if (model.approval_shown || model.lane_shown !== undefined || model.page !== undefined) {
    model.approval_shown = false;
    model.page = model.lane_shown = model.scroll = undefined;
    return [];
  }
  if (model.focus === "lanes" || model.focus === "transcript") {
    model.focus = "input";
    model.scroll = undefined;
    return [];
  }
  if (model.session.turn) return [{ type: "cancel" }];
  if (model.input.text !== "" || !model.entries.some(({ message }) => message)) return [];
  if (escaped) return openPicker(model, "rewind");
  model.escaped = true;
  model.notice = "Esc again goes back to an earlier message";
  return [];
}

/** Handles keys that do the same with any focus. @returns whether it was one. */
function everywhere(model: Model, name: string, context: PressContext): boolean {
  const { view } = context;
  const page = Math.max(view.height - 1, 1);
  const empty = model.focus !== "input" || model.input.text === "";
  switch (name) {
    case "tab":
      model.focus = nextFocus(model);
      return true;
    case "ctrl-t":
      model.folded = !model.folded;
      return true;
    case "ctrl-o":
      model.expanded = !model.expanded;
      return true;
    case "pageup":
      scrollBy(model, view, -page);
      return true;
    case "pagedown":
      scrollBy(model, view, page);
      return true;
    case "home":
      if (empty) scrollToStart(model, view);
      return empty;
    case "end":
      if (empty) model.scroll = undefined;
      return empty;
  }
  return false;
}

export function scroll(model: Model, { view }: PressContext, by: number): Effect[] {
  scrollBy(model, view, by);
  return [];
}

/** Returns the next part that can have the focus. */
function nextFocus(model: Model): Focus {
  const { focus, approvals } = model;
  const parts: Focus[] = ["input"];
  if (approvals.length > 0) parts.push("approval");
  const ids = workIds(model);
  if (ids.length > 0) parts.push("lanes");
  if (!ids.includes(model.lane_at)) model.lane_at = ids[0] ?? MAIN_LANE;
  parts.push("transcript");
  return parts[(parts.indexOf(focus) + 1) % parts.length];
}

/** Shows a lane in place of the transcript; the main lane is the transcript. */
export function showLane(model: Model, lane_id: string): Effect[] {
  model.lane_at = lane_id;
  model.scroll = undefined;
  model.approval_shown = false;
  model.lane_shown = lane_id;
  const lane = shownLane(model);
  if (lane === undefined || lane.kind === "main") {
    model.lane_shown = undefined;
    return [];
  }
  return lane.from_delta > 1 ? [{ type: "load_lane", lane_id }] : [];
}

function inLanes(model: Model, key: Key, context: PressContext): Effect[] {
  const ids = workIds(model);
  const at = ids.indexOf(model.lane_at);
  const lane = model.lanes.find(({ lane_id }) => lane_id === model.lane_at);
  const name = key.type === "paste" ? "" : key.type === "named" ? key.name : key.text;
  if (name === "up" || name === "down") {
    model.lane_at = ids[at + (name === "up" ? -1 : 1)] ?? model.lane_at;
    return [];
  }
  if (lane === undefined) {
    if (name === "enter" || name === "k") return [onCommand(model.lane_at, name)];
    model.focus = "input";
    return inInput(model, key, context);
  }
  const { lane_id, pinned } = lane;
  switch (name) {
    case "enter":
      return showLane(model, lane_id);
    case "k":
      return [{ type: "kill_lane", lane_id }];
    case "p":
      return [{ type: "pin_lane", lane_id, pinned: !pinned }];
  }
  const number = /^[1-9]$/.test(name) ? model.lanes[Number(name) - 1] : undefined;
  if (number !== undefined) return showLane(model, number.lane_id);
  model.focus = "input";
  return inMessage(model, key, context);
}

/** Shows the output of a command in the background, or stops it. */
function onCommand(command_id: string, key: "enter" | "k"): Effect {
  const value = key === "k" ? `stop ${command_id}` : command_id;
  return { type: "setting", command: { setting: "background", value } };
}

function inInput(model: Model, key: Key, context: PressContext): Effect[] {
  const { input } = model;
  if (inVi(model, key)) return [];
  if (key.type !== "named") {
    const chord = input.last === "ctrl-x" ? editWith(model, key.text) : undefined;
    input.last = undefined;
    if (chord !== undefined) return chord;
    const paths = key.type === "paste" ? pastedPaths(key.text, Deno.build.os === "windows") : [];
    const text = plainText(key.text);
    const fits = paths.length > 0 ? insert(input, text) : insertKey(input, key);
    if (!fits) model.notice = "the message is too long and was cut";
    return paths.length > 0 ? [{ type: "attach", pasted: { text, paths } }] : [];
  }
  switch (key.name) {
    case "enter":
      return submit(model, context);
    case "alt-enter":
      if (model.session.turn && input.text.trim() !== "") return submit(model, context, "queue");
      insert(input, "\n");
      return [];
    case "ctrl-d":
      if (input.text === "") return [{ type: "quit" }];
      erase(input, "right");
      return [];
    case "up":
      if (!moveLine(input, -1)) recall(model, -1);
      return [];
    case "down":
      if (!moveLine(input, 1)) recall(model, 1);
      return [];
  }
  return editWith(model, key.name) ?? [];
}

/** Commands that open a list when nothing follows them. */
const PICKERS: Readonly<Record<string, PickerKind>> = {
  "/approval": "approval",
  "/changes": "changes",
  "/effort": "effort",
  "/model": "models",
  "/rewind": "rewind",
  "/sessions": "sessions",
  "/theme": "theme",
};

const LOAD_COMMANDS: Effect = { type: "load_commands" };

const COMMANDS: Partial<Record<ChatCommand, Effect>> = {
  cancel: { type: "cancel" },
  compact: { type: "compact" },
  continue: { type: "continue" },
  exit: { type: "quit" },
  help: LOAD_COMMANDS,
  kill: { type: "kill" },
  pause: { type: "pause" },
  quit: { type: "quit" },
  resume: { type: "resume" },
  withdraw: { type: "withdraw" },
};

/** @param asked_for how the person wants a message to reach the model. */
function submit(model: Model, { newId }: PressContext, asked_for?: Delivery): Effect[] {
  const { input } = model;
  const whole = expanded(input, input.text);
  const queued = queuedText(whole);
  const text = queued ?? whole;
  const word = text.trim();
  if (queued === "") model.notice = QUEUE_USAGE;
  if (word === "") return [];
  const delivery = queued === undefined ? asked_for : "queue";
  const own = CHAT_COMMANDS.find((name) => word === `/${name}`);
  const command = own && COMMANDS[own];
  if (model.session.state === "ended") {
    model.notice = "the session has ended; Ctrl-D on an empty message leaves";
    if (command?.type !== "quit") return [];
  }
  const answers = own === undefined && delivery === undefined;
  const answered = answers ? answerTyped(model, word) : undefined;
  if (answered !== undefined) return answered;
  const files = filesIn(input).map(({ key }) => key);
  rememberChips(input);
  clear(input);
  forgetEdits(input);
  viSent(model);
  model.scroll = model.lane_shown = model.page = undefined;
  if (own === "help") model.help = true;
  if (command !== undefined) return [command];
  if (Object.hasOwn(PICKERS, word)) return openPicker(model, PICKERS[word]);
  const setting = settingCommand(word);
  if (setting !== undefined) return [{ type: "setting", command: setting }];
  const vi = viCommand(word);
  if (vi !== undefined) return [{ type: "vi", value: vi }];
  const exported = exportCommand(word);
  if (exported !== undefined) return [{ type: "export", command: exported }];
  const theme = themeCommand(word);
  if (theme !== undefined) return [{ type: "theme", name: theme }];
  const undo = undoCommand(word);
  if (undo !== undefined) return [{ type: "undo", command: undo }];
  const run = personCommand(text);
  const message: Sending = {
    text: run === undefined ? text : `!${run}`,
    client_message_id: newId(),
    ...delivery && { delivery },
    ...files.length > 0 && { files },
    ...run !== undefined && { run: true },
  };
  const { client_message_id } = message;
  model.outbox.push(message);
  addMessage(model, message.text, { client_message_id });
  const { state, paused_by_stop } = model.session;
  const send: Effect = { type: "send", ...message };
  // A message to a paused session also resumes it.
  return state === "paused" && !paused_by_stop ? [{ type: "resume" }, send] : [send];
}
