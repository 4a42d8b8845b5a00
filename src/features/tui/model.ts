/**
 * The terminal UI's view of a session: plain data, changed by events (`transcript.ts`) and keys
 * (`keymap.ts`), drawn by `render.ts`.
 */
import {
  type Decision,
  type Delivery,
  type LaneKind,
  type LaneStatus,
  MAIN_LANE,
  type RuleScope,
} from "../../protocol/events.ts";
import type { PersonAnswer, PersonQuestion } from "../../protocol/person_question.ts";
import type { Token } from "../../base/mention.ts";
import type { Suggestion } from "../chat_commands/suggestions.ts";
import type { Attachment } from "../../protocol/attachments.ts";
import type { Question } from "../../session/question.ts";
import { emptyInput, type Input, type Vi } from "./input_state.ts";
import type { Picker, Secret } from "./picker.ts";
import type { FileChange } from "../../base/edits/changes.ts";
import type { DiffLine } from "../../session/diff_rows.ts";
import type { Style } from "./text.ts";

/** One thing in the transcript. Its text is clean (`text.ts`). */
export interface Entry {
  readonly id: number;
  kind: "user" | "assistant" | "thought" | "call" | "note" | "problem" | "lane" | "approval";
  /** At least one; the last grows. */
  lines: string[];
  /** Counts changes other than growth at the end, which void the layout. */
  epoch: number;
  /** Code units in `lines`. */
  size: number;
  call_id?: string;
  /** Of a call: its tool, and what it does in words. */
  tool?: string;
  doing?: string;
  /** Of reasoning: how long it took, once it has ended. */
  took?: string;
  /** Of a call: how it ended. */
  ok?: boolean;
  /** Of a call: the lines after its first that show changes of files. */
  edit_lines?: number;
  /** Of a call: what those lines show. */
  changes?: readonly FileChange[];
  /** Of a call: whether its result has recorded the changes. */
  recorded?: boolean;
  /** Of a call: whether a question about it waits, which shows its changes. */
  asked?: boolean;
  /** Of output: runs that are not plain (`base/looks.ts`), for each line that has some. */
  looks?: (readonly number[] | undefined)[];
  /** Of an answer: whether it is no Markdown. */
  plain?: boolean;
  /** Of a question: how each of its lines looks. */
  styles?: readonly Style[];
  /** Of a question: those of its lines that are lines of a difference. */
  diffs?: readonly (DiffLine | undefined)[];
  /** Of a message that the daemon has not confirmed. */
  client_message_id?: string;
  /** Of a message that no model call has seen. */
  waits?: boolean;
  /** Of such a message: how it reaches the model. */
  delivery?: Delivery;
  /** Of a message that the session can go back to: as it was sent. */
  message?: { message_id: string; text: string; attachments?: readonly Attachment[] };
}

export interface LaneView {
  lane_id: string;
  kind: LaneKind;
  status: LaneStatus;
  label: string;
  pinned: boolean;
  /** Milliseconds since 1970. */
  started_at: number;
  ended_at?: number;
  /** Its known output. */
  output: Entry;
  /** Number of the first delta in `output`; earlier ones can be requested. */
  from_delta: number;
  /** Lines at the end of earlier output that were drawn again since. */
  redrawn_before: number;
}

/** A command in the background. */
export interface CommandView {
  command_id: string;
  command: string;
  /** Milliseconds since 1970. */
  since: number;
}

/** The running turn; times are milliseconds since 1970. */
export interface TurnView {
  began_at: number;
  /** How long it has waited for the person, or for the end of a limit. */
  waited_ms: number;
  /** Since when it waits. */
  waits_from?: number;
  /** Tokens that its models have written. */
  tokens: number;
}

export interface ApprovalView {
  approval_id: string;
  lane_id: string;
  tool: string;
  question: Question;
  /** The model's own question to the person, if it is one. */
  asked?: PersonQuestion;
  /** Chosen options of a question with several answers, from 0. */
  chosen: number[];
  /** The shown text of the question. */
  about: Entry;
  /** Characters that do not fit into the terminal UI: it cannot be allowed here. */
  left_out: number;
  /** What `always` would let through. */
  always: string;
  /** The keys that picked an answer or chose a rule; a message may begin with them. */
  typed: string;
  /** The chosen rule, before its scope is chosen. */
  rule_chosen?: string;
  /** The answer that Enter gives. */
  picked?: Picked;
  /** Whether all of it has been on the screen. */
  read: boolean;
  /** Whether a person has had time to see it; then keys answer it. */
  armed: boolean;
  /** Answered here, but not yet confirmed by the daemon. */
  answered: boolean;
}

/** An answer that a key has picked, until Enter confirms it. */
export interface Picked {
  /** What it does, for people. */
  words: string;
  decision?: Decision;
  always?: { rule: string; scope: RuleScope };
  /** Of a question to the person; without one it is skipped. */
  answer?: PersonAnswer;
}

/** Which part takes the keys. */
export type Focus = "input" | "approval" | "lanes" | "transcript";

/** The top line of the transcript's window; without one it follows the end. */
export interface Anchor {
  entry: number;
  row: number;
}

/** A message that the person sent, in any session. */
export interface FoundMessage {
  session_id: string;
  seq: number;
  /** Its beginning, in one line. */
  text: string;
}

/** A message that the daemon has not confirmed; see `Effect`. */
export interface Sending {
  client_message_id: string;
  text: string;
  delivery?: Delivery;
  files?: string[];
  run?: true;
}

/** The search for an earlier message. */
export interface Search {
  query: string;
  /** Newest first, those of this directory before others. */
  found: FoundMessage[];
  /** The chosen one. */
  at: number;
  /** Whether an answer is awaited. */
  waits: boolean;
}

export interface SessionView {
  id: string;
  title: string;
  workdir: string;
  model: string;
  approval: string;
  effort: string;
  /** The branch of the directory, if the terminal has found one. */
  branch?: string;
  state: "running" | "paused" | "ended" | "unreadable";
  /** Whether the daemon's stop has paused it. */
  paused_by_stop: boolean;
  turn: boolean;
  /** When the turn goes on that waits for the end of a limit. */
  parked_until?: string;
  cost_usd: number;
  /** Tokens of the conversation and their limit. */
  context?: { used: number; limit: number };
}

/** The menu that completes a word of the message. */
export interface Menu {
  token: Token;
  /** What is offered for it, best first; none until the daemon has answered. */
  options: readonly Suggestion[];
  /** Index of the chosen one. */
  at: number;
  /** Whether the daemon has not answered for the word as it is. */
  waits: boolean;
}

/** The offer that is on the screen. */
export interface FirstRun {
  /** The entry that shows it. */
  entry: number;
  /** A model on this machine. */
  local?: string;
}

export interface Model {
  session: SessionView;
  /** The last applied event. */
  seq: number;
  /** The last event whose cost is included. */
  cost_seq: number;
  turn?: TurnView;
  /** The time, as far as events and the terminal tell it: milliseconds since 1970. */
  now: number;
  /** The person's home directory, which the status line shortens. */
  home: string;
  link: "connecting" | "connected" | "reconnecting";
  entries: Entry[];
  next_entry: number;
  /** Whether older entries were dropped. */
  cut: boolean;
  /** Its steps as lines; empty if no step is open. */
  plan: string[];
  lanes: LaneView[];
  /** Commands that run in the background. */
  commands_run: CommandView[];
  /** Whether the plan and what runs are one line each. */
  folded: boolean;
  approvals: ApprovalView[];
  /** Messages that the daemon has not confirmed; sent again after a reconnect. */
  outbox: Sending[];
  input: Input;
  history: string[];
  /** The mode of the keys of vi, if they are on. */
  vi?: Vi;
  /** Set while the person looks for an earlier message. */
  search?: Search;
  /** The question that the message being typed answers. */
  input_answers?: string;
  /** Whether that message says what to do instead of what it denies. */
  input_denies: boolean;
  focus: Focus;
  /** The lane or the background command under the panel's cursor. */
  lane_at: string;
  /** The lane whose output replaces the transcript. */
  lane_shown?: string;
  /** Whether the first approval's text replaces the transcript. */
  approval_shown: boolean;
  scroll?: Anchor;
  /** What completes the word before the cursor. */
  menu?: Menu;
  /** Where the word begins whose menu was closed. */
  menu_closed?: number;
  /** The list that takes the place of the conversation. */
  picker?: Picker;
  /** What is typed where nobody is to see it. */
  secret?: Secret;
  /** A page that takes the place of the transcript. */
  page?: { title: string; entry: Entry };
  /** The ways to a model that are offered. */
  first_run?: FirstRun;
  /** Whether the last key was an Esc that did nothing. */
  escaped: boolean;
  /** Whether calls show all of their output. */
  expanded: boolean;
  help: boolean;
  /** The first row of the help that is on the screen. */
  help_row: number;
  /** Commands from files, as lines of the help. */
  commands: string[];
  /** Shown in the status line until the next key. */
  notice?: string;
  /** Whether the next Ctrl-C leaves. */
  leaving: boolean;
}

/** Returns the model of a session before its data arrives. */
export function emptyModel(session_id: string): Model {
  return {
    session: {
      id: session_id,
      title: "",
      workdir: "",
      model: "",
      approval: "",
      effort: "default",
      state: "running",
      paused_by_stop: false,
      turn: false,
      cost_usd: 0,
    },
    seq: 0,
    cost_seq: 0,
    turn: undefined,
    now: 0,
    home: "",
    link: "connecting",
    entries: [],
    next_entry: 1,
    cut: false,
    plan: [],
    lanes: [],
    commands_run: [],
    folded: false,
    approvals: [],
    outbox: [],
    input: emptyInput(),
    history: [],
    vi: undefined,
    search: undefined,
    input_answers: undefined,
    input_denies: false,
    focus: "input",
    lane_at: MAIN_LANE,
    lane_shown: undefined,
    approval_shown: false,
    scroll: undefined,
    menu: undefined,
    menu_closed: undefined,
    picker: undefined,
    secret: undefined,
    page: undefined,
    first_run: undefined,
    escaped: false,
    expanded: false,
    help: false,
    help_row: 0,
    commands: [],
    notice: undefined,
    leaving: false,
  };
}

/** The lane whose output replaces the transcript. */
export function shownLane({ lanes, lane_shown }: Model): LaneView | undefined {
  return lane_shown === undefined ? undefined : lanes.find((it) => it.lane_id === lane_shown);
}

/** The entries in the transcript's window. */
export function shownEntries(model: Model): readonly Entry[] {
  if (model.page !== undefined) return [model.page.entry];
  const [approval] = model.approvals;
  if (model.approval_shown && approval !== undefined) return [approval.about];
  const lane = shownLane(model);
  return lane === undefined ? model.entries : [lane.output];
}
