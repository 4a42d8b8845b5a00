/** Handles keys: a key changes the model and returns what the daemon must do. */
import type { Decision, RuleScope } from "../../protocol/events.ts";
import { exactLine } from "../../base/visible.ts";
import { CHAT_COMMANDS, type ChatCommand } from "../../protocol/chat_commands.ts";
import { type PersonAnswer, SKIP } from "../../protocol/person_question.ts";
import { choiceText, type Question, RULE_SCOPES } from "../../session/question.ts";
import { type SettingCommand, settingCommand } from "../../session/setting_command.ts";
import { type UndoCommand, undoCommand } from "../../session/undo_command.ts";
import { clear, erase, insert, move, moveLine, recall } from "./input.ts";
import type { Key } from "./keys.ts";
import { type ApprovalView, type Focus, type Model, shownLane } from "./model.ts";
import { scrollBy, scrollToStart, type View } from "./scroll.ts";
import { addMessage } from "./transcript.ts";

/** An action outside the model. */
export type Effect =
  | { type: "send"; text: string; client_message_id: string }
  | {
    type: "approve";
    approval_id: string;
    decision: Decision;
    question: Question;
    always?: { rule: string; scope: RuleScope };
  }
  /** Answers a question to the person; without an answer it is skipped. */
  | { type: "answer"; approval_id: string; answer?: PersonAnswer; question: Question }
  | { type: "cancel" | "compact" | "continue" | "pause" | "resume" | "kill" }
  | { type: "setting"; command: SettingCommand }
  | { type: "undo"; command: UndoCommand }
  | { type: "kill_lane"; lane_id: string }
  | { type: "pin_lane"; lane_id: string; pinned: boolean }
  /** Requests a lane's output from before this model existed. */
  | { type: "load_lane"; lane_id: string }
  /** Requests the commands from files, for the help. */
  | { type: "load_commands" }
  | { type: "quit" | "redraw" | "suspend" };

export interface PressContext {
  /** The current window of the transcript. */
  view: View;
  /** Creates a client_message_id. */
  newId(): string;
}

/** Handles a key. @returns the resulting actions, in order. */
export function press(model: Model, key: Key, context: PressContext): Effect[] {
  const leaving = model.leaving;
  model.leaving = false;
  model.notice = undefined;
  if (key.type === "named") {
    if (key.name === "ctrl-c") return interrupt(model, leaving);
    if (key.name === "ctrl-z") return [{ type: "suspend" }];
    if (key.name === "ctrl-l") return [{ type: "redraw" }];
  }
  if (model.help) {
    model.help = false;
    return [];
  }
  if (key.type === "named") {
    if (everywhere(model, key.name, context)) return [];
    if (key.name === "escape") return goBack(model);
  }
  const char = key.type === "character" ? key.text : undefined;
  if (model.focus === "approval") {
    const effects = inQuestion(model, key);
    if (effects !== undefined) return effects;
  }
  if (key.type !== "named" && model.input.text === "") model.input_answers = answeredBy(model);
  if (model.focus === "lanes") return inLanes(model, key, context);
  if (model.focus === "transcript" && key.type === "named") {
    if (key.name === "up") return scroll(model, context, -1);
    if (key.name === "down") return scroll(model, context, 1);
  }
  if (char !== undefined && model.input.text === "") {
    if (char === "?") {
      model.help = true;
      return [LOAD_COMMANDS];
    }
    const lane = /^[1-9]$/.test(char) ? model.lanes[Number(char) - 1] : undefined;
    if (lane !== undefined && model.lanes.length > 1) return showLane(model, lane.lane_id);
  }
  // Typing goes to the message, whatever has the focus.
  model.focus = "input";
  return inInput(model, key, context);
}

function interrupt(model: Model, leaving: boolean): Effect[] {
  if (leaving) return [{ type: "quit" }];
  model.leaving = true;
  model.notice = "Ctrl-C again leaves; the session continues";
  if (model.session.turn) return [{ type: "cancel" }];
  clear(model.input);
  return [];
}

/** Esc: closes what is open; with nothing open it cancels the turn. */
function goBack(model: Model): Effect[] {
  const [approval] = model.approvals;
  if (model.focus === "approval" && takeBack(approval)) return [];
  if (model.approval_shown || model.lane_shown !== undefined) {
    model.approval_shown = false;
    model.lane_shown = model.scroll = undefined;
    return [];
  }
  if (model.focus === "lanes" || model.focus === "transcript") {
    model.focus = "input";
    model.scroll = undefined;
    return [];
  }
  return model.session.turn ? [{ type: "cancel" }] : [];
}

/** Handles keys that do the same whatever has the focus. @returns whether it was one. */
function everywhere(model: Model, name: string, context: PressContext): boolean {
  const { view } = context;
  const page = Math.max(view.height - 1, 1);
  const empty = model.focus !== "input" || model.input.text === "";
  switch (name) {
    case "tab":
      model.focus = nextFocus(model, 1);
      return true;
    case "shift-tab":
      model.focus = nextFocus(model, -1);
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

function scroll(model: Model, { view }: PressContext, by: number): Effect[] {
  scrollBy(model, view, by);
  return [];
}

/** Returns the next part that can have the focus. */
function nextFocus({ focus, approvals, lanes }: Model, by: 1 | -1): Focus {
  const parts: Focus[] = ["input"];
  if (approvals.length > 0) parts.push("approval");
  if (lanes.length > 1) parts.push("lanes");
  parts.push("transcript");
  return parts[(parts.indexOf(focus) + by + parts.length) % parts.length];
}

// ── questions ──────────────────────────────────────────────────────────────────────────────────

const ANSWERS: Record<string, Decision> = { y: "allow", a: "allow_always", n: "deny" };
/** The answers in the order in which Up and Down go through them. */
const ANSWER_KEYS = Object.keys(ANSWERS);

/** Handles a key while a question has the focus. @returns undefined for a key of the message. */
function inQuestion(model: Model, key: Key): Effect[] | undefined {
  const [approval] = model.approvals;
  if (approval === undefined) return undefined;
  if (key.type !== "named") {
    const typed = typedSoFar(approval);
    const effects = key.type === "character" && approval.picked === undefined
      ? pick(model, approval, key.text)
      : undefined;
    // A message that begins like an answer: its first letters are not lost.
    if (effects === undefined && takeBack(approval)) {
      model.input_answers = answeredBy(model);
      insert(model.input, typed);
    }
    return effects;
  }
  switch (key.name) {
    case "enter":
      if (approval.picked !== undefined) return confirm(approval);
      if (approval.asked !== undefined || model.input.text !== "") return answerChosen(model);
      model.notice = "y, n or a picks an answer, or Up and Down; Enter confirms it";
      return [];
    case "backspace":
      return takeBack(approval) ? [] : undefined;
    case "up":
    case "down":
      return step(model, approval, key.name === "up" ? -1 : 1);
  }
}

/** Returns the keys that have picked an answer or chosen a rule. */
function typedSoFar({ picked, rule_chosen, question }: ApprovalView): string {
  if (picked !== undefined) return picked.typed;
  return rule_chosen === undefined ? "" : `${question.choices!.indexOf(rule_chosen) + 1}`;
}

/** Takes back what was picked or chosen so far. @returns whether there was anything */
function takeBack(approval: ApprovalView | undefined): boolean {
  if (approval === undefined) return false;
  const { picked, rule_chosen } = approval;
  approval.picked = approval.rule_chosen = undefined;
  return picked !== undefined || rule_chosen !== undefined;
}

/** Goes to the next answer, without an end. @returns undefined while a message is being typed */
function step(model: Model, approval: ApprovalView, by: 1 | -1): Effect[] | undefined {
  if (model.input.text !== "" || !approval.armed) return undefined;
  const { asked, picked } = approval;
  if (asked?.multiple) return undefined;
  const keys = asked === undefined ? ANSWER_KEYS : asked.options.map((_, n) => `${n + 1}`);
  const at = keys.indexOf(picked?.typed ?? "");
  const from = at < 0 && by < 0 ? 0 : at;
  approval.picked = undefined;
  return pick(model, approval, keys[(from + by + keys.length) % keys.length]);
}

/** Gives the answer that was picked. */
function confirm(approval: ApprovalView): Effect[] {
  const { approval_id, question, picked, asked, answered } = approval;
  if (answered) return [];
  approval.answered = true;
  approval.picked = undefined;
  const { decision, always, answer } = picked!;
  if (asked !== undefined) return [{ type: "answer", approval_id, answer, question }];
  return [{ type: "approve", approval_id, decision: decision!, question, ...always && { always } }];
}

/** Picks an answer by its key. @returns undefined when the key is not an answer */
function pick(model: Model, approval: ApprovalView, char: string): Effect[] | undefined {
  if (approval.asked !== undefined) return choose(model, approval, char);
  if (char === "v") return showAll(model, approval);
  const kept = keepRule(model, approval, char);
  if (kept !== undefined) return kept;
  const typed = char.toLowerCase();
  const decision = ANSWERS[typed];
  // A key that was pressed before the question appeared does not answer it.
  if (decision === undefined || !approval.armed) return undefined;
  if (approval.answered) return [];
  if (decision !== "deny" && !mayAllow(model, approval)) return [];
  const words = { allow: "allow", deny: "deny", allow_always: `always allow ${approval.always}` };
  approval.picked = { typed: char, words: words[decision], decision };
  return [];
}

/** A number chooses a rule, then a letter where it holds. @returns undefined for other keys */
function keepRule(model: Model, approval: ApprovalView, char: string): Effect[] | undefined {
  const { question, rule_chosen, armed, answered } = approval;
  const choice = /^[1-9]$/.test(char) ? question.choices?.[Number(char) - 1] : undefined;
  const found = RULE_SCOPES.find(({ key }) => key === char.toLowerCase());
  if (!armed || choice === undefined && (rule_chosen === undefined || found === undefined)) {
    return undefined;
  }
  if (answered || !mayAllow(model, approval)) return [];
  if (choice !== undefined) {
    approval.rule_chosen = choice;
    return [];
  }
  const { scope, words } = found!;
  approval.picked = {
    typed: typedSoFar(approval) + char,
    words: `always allow ${choiceText(question, rule_chosen!)}, ${words}`,
    decision: "allow_always",
    always: { rule: rule_chosen!, scope },
  };
  return [];
}

function showAll(model: Model, { about }: ApprovalView): Effect[] {
  model.approval_shown = !model.approval_shown;
  model.scroll = model.approval_shown ? { entry: about.id, row: 0 } : undefined;
  return [];
}

/** Handles a key for a question to the person; as {@linkcode answer}. */
function choose(model: Model, approval: ApprovalView, char: string): Effect[] | undefined {
  const { options, multiple } = approval.asked!;
  // A question that is shown completely leaves the letter to the answer.
  if (char === "v" && (!approval.read || model.approval_shown) && model.input.text === "") {
    return showAll(model, approval);
  }
  if (!/^[0-8]$/.test(char) || Number(char) > options.length) return undefined;
  // A key that was pressed before the question appeared does not answer it.
  if (!approval.armed) return undefined;
  if (approval.answered) return [];
  if (model.input.text !== "") return undefined;
  if (char === SKIP) {
    approval.picked = { typed: char, words: "skip the question" };
    return [];
  }
  if (!mayAllow(model, approval)) return [];
  const at = Number(char) - 1;
  if (!multiple) {
    const { label } = options[at];
    approval.picked = { typed: char, words: exactLine(label), answer: { chosen: [label] } };
    return [];
  }
  approval.chosen = approval.chosen.includes(at)
    ? approval.chosen.filter((it) => it !== at)
    : [...approval.chosen, at].sort();
  return [];
}

/** Enter on a question for which options were chosen. */
function answerChosen(model: Model): Effect[] | undefined {
  const [approval] = model.approvals;
  if (!approval?.asked || approval.chosen.length === 0 || model.input.text !== "") return undefined;
  if (approval.answered) return [];
  const { options } = approval.asked;
  return answerWith(model, approval, { chosen: approval.chosen.map((at) => options[at].label) });
}

function answerWith(
  model: Model,
  approval: ApprovalView,
  answer: PersonAnswer | undefined,
): Effect[] {
  approval.answered = true;
  model.input_answers = undefined;
  const { approval_id, question } = approval;
  return [{ type: "answer", approval_id, answer, question }];
}

/** The question that a message answers which is begun now. */
function answeredBy({ focus, approvals: [approval] }: Model): string | undefined {
  const takes = focus === "approval" && approval?.armed && !approval.answered &&
    approval.asked?.free_text !== false;
  return takes ? approval.approval_id : undefined;
}

/** Answers the question for which a message was typed. @returns undefined for another message */
function answerTyped(model: Model, text: string): Effect[] | undefined {
  const { input_answers } = model;
  if (input_answers === undefined) return undefined;
  const [approval] = model.approvals;
  if (approval?.approval_id === input_answers && approval.asked === undefined) {
    return answerWord(model, approval, text);
  }
  if (approval?.approval_id !== input_answers || approval.answered) {
    model.input_answers = undefined;
    model.notice = "the question is gone; Enter sends this as a message";
    return [];
  }
  if (!mayAllow(model, approval)) return [];
  const { options } = approval.asked!;
  clear(model.input);
  const chosen = approval.chosen.map((at) => options[at].label);
  return answerWith(model, approval, { chosen, text });
}

/** The words that answer as their first letters do. */
const WORDS: Record<string, string> = { yes: "y", no: "n", always: "a" };

/** Answers by a whole word that was typed for a question. @returns undefined for a message */
function answerWord(model: Model, approval: ApprovalView, text: string): Effect[] | undefined {
  model.input_answers = undefined;
  const char = WORDS[text.toLowerCase()];
  if (char === undefined || approval.answered) return undefined;
  clear(model.input);
  model.focus = "approval";
  pick(model, approval, char);
  return approval.picked === undefined ? [] : confirm(approval);
}

/** A question that was not shown completely is opened instead of allowed. */
function mayAllow(model: Model, { about, left_out, read, asked }: ApprovalView): boolean {
  if (left_out > 0) {
    model.notice = "too long to show here: decide in the web app, or deny it";
    return false;
  }
  if (read) return true;
  if (!model.approval_shown) {
    model.approval_shown = true;
    model.scroll = { entry: about.id, row: 0 };
  }
  model.notice = `scroll to the end before you ${asked === undefined ? "allow it" : "answer"}`;
  return false;
}

// ── lanes ──────────────────────────────────────────────────────────────────────────────────────

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
  const at = model.lanes.findIndex(({ lane_id }) => lane_id === model.lane_at);
  const lane = model.lanes[at];
  const name = key.type === "paste" ? "" : key.type === "named" ? key.name : key.text;
  const { lane_id, pinned } = lane;
  switch (name) {
    case "up":
    case "down":
      model.lane_at = (model.lanes[at + (name === "up" ? -1 : 1)] ?? lane).lane_id;
      return [];
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
  return inInput(model, key, context);
}

// ── the message ────────────────────────────────────────────────────────────────────────────────

function inInput(model: Model, key: Key, context: PressContext): Effect[] {
  const { input } = model;
  if (key.type !== "named") {
    if (!insert(input, key.text)) model.notice = "the message is too long and was cut";
    return [];
  }
  switch (key.name) {
    case "enter":
      return submit(model, context);
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
  EDITS[key.name]?.(model);
  return [];
}

const EDITS: Record<string, (model: Model) => void> = {
  "alt-enter": ({ input }) => insert(input, "\n"),
  "shift-enter": ({ input }) => insert(input, "\n"),
  "ctrl-j": ({ input }) => insert(input, "\n"),
  "left": ({ input }) => move(input, "left"),
  "right": ({ input }) => move(input, "right"),
  "ctrl-b": ({ input }) => move(input, "left"),
  "ctrl-f": ({ input }) => move(input, "right"),
  "ctrl-left": ({ input }) => move(input, "word_left"),
  "ctrl-right": ({ input }) => move(input, "word_right"),
  "alt-left": ({ input }) => move(input, "word_left"),
  "alt-right": ({ input }) => move(input, "word_right"),
  "alt-b": ({ input }) => move(input, "word_left"),
  "alt-f": ({ input }) => move(input, "word_right"),
  "home": ({ input }) => move(input, "line_start"),
  "end": ({ input }) => move(input, "line_end"),
  "ctrl-a": ({ input }) => move(input, "line_start"),
  "ctrl-e": ({ input }) => move(input, "line_end"),
  "backspace": ({ input }) => erase(input, "left"),
  "ctrl-h": ({ input }) => erase(input, "left"),
  "delete": ({ input }) => erase(input, "right"),
  "ctrl-w": ({ input }) => erase(input, "blank_left"),
  "alt-backspace": ({ input }) => erase(input, "word_left"),
  "alt-d": ({ input }) => erase(input, "word_right"),
  "ctrl-u": ({ input }) => erase(input, "line_start"),
  "ctrl-k": ({ input }) => erase(input, "line_end"),
  "ctrl-p": (model) => recall(model, -1),
  "ctrl-n": (model) => recall(model, 1),
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
};

function submit(model: Model, { newId }: PressContext): Effect[] {
  const { input } = model;
  const { text } = input;
  const word = text.trim();
  if (word === "") return [];
  const own = CHAT_COMMANDS.find((name) => word === `/${name}`);
  const command = own && COMMANDS[own];
  if (model.session.state === "ended") {
    model.notice = "the session has ended; Ctrl-D on an empty message leaves";
    if (command?.type !== "quit") return [];
  }
  const answered = own === undefined ? answerTyped(model, word) : undefined;
  if (answered !== undefined) return answered;
  clear(input);
  model.scroll = model.lane_shown = undefined;
  if (own === "help") model.help = true;
  if (command !== undefined) return [command];
  const setting = settingCommand(word);
  if (setting !== undefined) return [{ type: "setting", command: setting }];
  const undo = undoCommand(word);
  if (undo !== undefined) return [{ type: "undo", command: undo }];
  const client_message_id = newId();
  model.outbox.push({ client_message_id, text });
  addMessage(model, text, { client_message_id });
  const { state, paused_by_stop } = model.session;
  const send: Effect = { type: "send", text, client_message_id };
  // A message to a paused session also resumes it.
  return state === "paused" && !paused_by_stop ? [{ type: "resume" }, send] : [send];
}
