/**
 * What the terminal UI shows of a session: plain data, changed by the session's events (`transcript.ts`)
 * and by keys (`keymap.ts`), drawn by `render.ts`.
 */
import {
  type Decision,
  type LaneKind,
  type LaneStatus,
  MAIN_LANE,
  type RuleScope,
} from "../../protocol/events.ts";
import type { PersonAnswer, PersonQuestion } from "../../protocol/person_question.ts";
import type { Question } from "../../session/question.ts";

/** One thing in the transcript. Its text is clean (`text.ts`). */
export interface Entry {
  readonly id: number;
  kind: "user" | "assistant" | "thought" | "call" | "note" | "problem" | "lane" | "approval";
  /** At least one; the last grows. */
  lines: string[];
  /** Counts changes other than growth at the end: what was laid out of it is void. */
  epoch: number;
  /** Code units in `lines`. */
  size: number;
  call_id?: string;
  /** Of a call: how it went, once it has ended. */
  ok?: boolean;
  /** Of a call: the lines after its first that say what it changes in files. */
  edit_lines?: number;
  /** Of a message that the daemon has not confirmed. */
  client_message_id?: string;
  /** Of a message that no model call has seen. */
  waits?: boolean;
}

export interface LaneView {
  lane_id: string;
  kind: LaneKind;
  status: LaneStatus;
  label: string;
  pinned: boolean;
  /** What it said, as far as it is known here. */
  output: Entry;
  /** Number of its first delta in `output`; what came before can be asked for. */
  from_delta: number;
  /** Lines at the end of what came before that were drawn again since. */
  redrawn_before: number;
}

export interface ApprovalView {
  approval_id: string;
  /** Who asks. */
  lane_id: string;
  tool: string;
  question: Question;
  /** What the model asks the person, if it is a question of its own. */
  asked?: PersonQuestion;
  /** Numbers of the options that are chosen so far, from 0; for a question with several. */
  chosen: number[];
  /** What is to be allowed, as it is shown. */
  about: Entry;
  /** Characters of it that do not fit into the terminal UI: it cannot be allowed here. */
  left_out: number;
  /** What `always` would let through. */
  always: string;
  /** The rule that would be kept; where it holds is still to be said. */
  rule_chosen?: string;
  /** The answer that Enter gives. */
  picked?: Picked;
  /** All of it has been on the screen. */
  read: boolean;
  /** A person has had time to see it: keys answer it. */
  armed: boolean;
  /** It was answered here; the daemon has not confirmed that. */
  answered: boolean;
}

/** An answer that a key has picked: it holds once Enter confirms it. */
export interface Picked {
  /** The keys: where a message begins with them, they are its first letters. */
  typed: string;
  /** What it does, for people. */
  words: string;
  decision?: Decision;
  always?: { rule: string; scope: RuleScope };
  /** Of a question to the person; without one it is skipped. */
  answer?: PersonAnswer;
}

/** Which part takes the keys. */
export type Focus = "input" | "approval" | "lanes" | "transcript";

/** The line at the top of the transcript's window; without one it follows what comes. */
export interface Anchor {
  entry: number;
  row: number;
}

export interface Input {
  text: string;
  /** Code units before the cursor. */
  cursor: number;
  /** Index in the history while it is looked through. */
  recalled?: number;
  /** What was typed before that. */
  draft: string;
}

export interface SessionView {
  id: string;
  workdir: string;
  model: string;
  approval: string;
  state: "running" | "paused" | "ended" | "unreadable";
  /** Whether the daemon's own stop has paused it. */
  paused_by_stop: boolean;
  turn: boolean;
  cost_usd: number;
  /** Tokens of the conversation and their limit. */
  context?: { used: number; limit: number };
}

export interface Model {
  session: SessionView;
  /** Last event that was taken. */
  seq: number;
  /** Last event whose cost is in the session's. */
  cost_seq: number;
  link: "connecting" | "connected" | "reconnecting";
  entries: Entry[];
  next_entry: number;
  /** Older entries are no longer here. */
  cut: boolean;
  /** Its steps as lines; empty when no step is open. */
  plan: string[];
  lanes: LaneView[];
  approvals: ApprovalView[];
  /** Messages that the daemon has not confirmed; sent again after a reconnect. */
  outbox: { client_message_id: string; text: string }[];
  input: Input;
  history: string[];
  /** The question that the message being typed answers. */
  input_answers?: string;
  focus: Focus;
  /** Lane that the panel's cursor is on. */
  lane_at: string;
  /** Lane whose output stands in the transcript's place. */
  lane_shown?: string;
  /** The first approval's text stands in the transcript's place. */
  approval_shown: boolean;
  scroll?: Anchor;
  /** Calls show all of their output. */
  expanded: boolean;
  help: boolean;
  /** Commands from files, as lines of the help. */
  commands: string[];
  /** Said in the status line until the next key. */
  notice?: string;
  /** Ctrl-C was pressed: the next one leaves. */
  leaving: boolean;
}

/** The model of a session of which nothing is known yet. */
export function emptyModel(session_id: string): Model {
  return {
    session: {
      id: session_id,
      workdir: "",
      model: "",
      approval: "",
      state: "running",
      paused_by_stop: false,
      turn: false,
      cost_usd: 0,
    },
    seq: 0,
    cost_seq: 0,
    link: "connecting",
    entries: [],
    next_entry: 1,
    cut: false,
    plan: [],
    lanes: [],
    approvals: [],
    outbox: [],
    input: { text: "", cursor: 0, draft: "" },
    history: [],
    input_answers: undefined,
    focus: "input",
    lane_at: MAIN_LANE,
    lane_shown: undefined,
    approval_shown: false,
    scroll: undefined,
    expanded: false,
    help: false,
    commands: [],
    notice: undefined,
    leaving: false,
  };
}

/** The lane whose output stands in the transcript's place. */
export function shownLane({ lanes, lane_shown }: Model): LaneView | undefined {
  return lane_shown === undefined ? undefined : lanes.find((it) => it.lane_id === lane_shown);
}

/** The entries that stand in the transcript's window. */
export function shownEntries(model: Model): readonly Entry[] {
  const [approval] = model.approvals;
  if (model.approval_shown && approval !== undefined) return [approval.about];
  const lane = shownLane(model);
  return lane === undefined ? model.entries : [lane.output];
}
