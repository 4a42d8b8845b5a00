/**
 * The one fold over a session's events for people; all clients render it. Settings, cost, lanes and
 * pending questions are in the daemon's own fold, `state.ts`.
 *
 * It keeps only items that can still change. Must not import Deno: the web app uses it.
 */
import { rulesLine } from "../base/rules_line.ts";
import { backgroundEndedText, backgroundStartedText } from "../protocol/background_text.ts";
import { compactedText } from "../protocol/compacted_text.ts";
import {
  type EventData,
  type EventType,
  type LaterMessage,
  MAIN_LANE,
  MODEL_RETRY,
  PINNED,
  type SessionEvent,
  UNPINNED,
} from "../protocol/events.ts";
import {
  configuredText,
  endedText,
  hookText,
  movedText,
  parkedText,
  pausedText,
  reloadedText,
  rewoundText,
  SESSION_RESUMED,
  takenBackText,
  TURN_CONTINUED,
  type TurnEnd,
  turnEndText,
} from "../protocol/note_text.ts";
import { stillPending } from "./state_steps.ts";
import type {
  Asked,
  Change,
  Item,
  NoteItem,
  QuestionItem,
  TextItem,
  ThoughtItem,
  ToolItem,
  ToolOutcome,
  UserItem,
} from "./view_items.ts";
import { itemsOfCheckpoint, laterOfCheckpoint, type Unkeyed } from "./view_kept.ts";

export type * from "./view_items.ts";

/** Events that end a thought. */
const ENDS_THOUGHT: ReadonlySet<EventType> = new Set<EventType>([
  "session.delta",
  "session.tool_started",
  "lane.note",
  "turn.completed",
  "turn.continued",
]);

/** The result of a call that had none when its turn ended. */
const NO_RESULT: ToolOutcome = { ok: false, output: "interrupted, no result", truncated: false };

/** A pending question. */
interface Waiting {
  approval_id: string;
  lane_id: string;
  request: EventData["approval.requested"];
  item: ToolItem | QuestionItem;
  asked: Asked;
}

/** Open items at the end of the last turn, which may continue. */
interface CutOff {
  text?: TextItem;
  calls: ToolItem[];
  note?: NoteItem;
}

export class View {
  /** The step being written. */
  #text: TextItem | undefined;
  #thought: ThoughtItem | undefined;
  /** The note on a retried model call, until it is answered. */
  #retry: NoteItem | undefined;
  #calls = new Map<string, ToolItem>();
  /** The calls whose commands run in the background, by the ids of those. */
  #background = new Map<string, ToolItem>();
  #questions: Waiting[] = [];
  /** Messages that no model call has seen. */
  #unseen: UserItem[] = [];
  /** Messages that wait for turns of their own, in order. */
  #queued: UserItem[] = [];
  /** The calls of the model's last answer. */
  #answered = new Set<string>();
  /** The model was not called after this event yet: its next call sees all messages before. */
  #step_seq = 0;
  /** Where the model's last answer began, as the transcript counts it. */
  #answer_seq = 0;
  #turn = false;
  #cut_off: CutOff | undefined;
  /** The note on a parked turn. */
  #parked: NoteItem | undefined;
  #kept = 0;
  #event: Pick<SessionEvent, "seq" | "at"> = { seq: 0, at: "" };
  #changes: Change[] = [];

  /**
   * Loads a conversation before any event (`itemsOfTranscript`). Returns the added items.
   *
   * @param writing whether the last item is text being written
   */
  load(kept: Iterable<Unkeyed>, writing: boolean): Change[] {
    let last: Item | undefined;
    for (const item of kept) last = this.#keep(item);
    if (writing && last?.kind === "text") this.#text = last;
    return this.#taken();
  }

  /** Applies one event, in seq order. Returns the changes in order. */
  apply(event: SessionEvent): Change[] {
    this.#event = event;
    const hidden = event.type === "lane.note" && isPin(event.data);
    if (ENDS_THOUGHT.has(event.type) && !hidden) this.#endThought();
    this.#apply(event);
    this.#settle(event);
    return this.#taken();
  }

  #apply(event: SessionEvent): void {
    switch (event.type) {
      case "session.checkpoint":
        for (const item of itemsOfCheckpoint(event.data.transcript)) this.#keep(item);
        for (const { seq, message } of laterOfCheckpoint(event.data.state)) {
          this.#queue(message, seq);
        }
        break;
      case "user.message":
        this.#addUser(event.data);
        break;
      case "user.queued":
        this.#queue(event.data);
        break;
      case "user.withdrawn":
        this.#withdraw(event.data);
        break;
      case "session.delta":
        this.#called();
        this.#addText(event.data.text);
        break;
      case "session.reasoning":
        this.#called();
        this.#addThought(event.data.text);
        break;
      case "cost.tick":
        if ((event.data.lane_id ?? MAIN_LANE) !== MAIN_LANE) break;
        this.#endThought();
        this.#answer_seq = this.#text?.seq ?? event.seq;
        this.#text = this.#retry = undefined;
        this.#seen(event.data.seen_seq);
        this.#answered = new Set(event.data.answered?.calls.map(({ call_id }) => call_id));
        this.#step_seq = event.seq;
        break;
      case "session.tool_started": {
        const { call_id, tool, args } = event.data;
        this.#calls.set(call_id, this.#addCall({ call_id, tool, args }));
        break;
      }
      case "session.tool_completed": {
        const { call_id, tool, ...outcome } = event.data;
        if (this.#answered.has(call_id)) this.#step_seq = event.seq;
        if (this.#calls.has(call_id)) this.#complete(call_id, outcome);
        // The call started before this view's first event.
        else if (!this.#isCutOff(call_id)) this.#addCall({ call_id, tool, args: {}, outcome });
        break;
      }
      case "approval.requested":
        this.#ask(event.data);
        break;
      case "approval.resolved": {
        const { approval_id, decision } = event.data;
        const waiting = this.#questions.find((it) => it.approval_id === approval_id);
        if (waiting) waiting.asked.decision = decision;
        break;
      }
      case "turn.started":
        this.#turn = true;
        this.#takeCutOff();
        this.#begun(event.seq);
        break;
      case "turn.continued":
        this.#turn = true;
        this.#takeParked();
        this.#continueTurn();
        this.#note(TURN_CONTINUED);
        break;
      case "turn.parked":
        this.#takeParked();
        this.#parked = this.#note(parkedText(event), {
          tone: "warning",
          may_continue: true,
          parked_until: event.data.until,
        });
        break;
      case "turn.completed":
        this.#turn = false;
        this.#takeParked();
        this.#endTurn(event.data);
        this.#changes.push({ type: "turn_ended", seq: event.seq, end: endOf(event.data) });
        break;
      case "lane.created": {
        const call = event.data.call_id && this.#calls.get(event.data.call_id);
        if (!call) break;
        call.lane_id = event.data.lane_id;
        this.#changed(call);
        break;
      }
      case "lane.delta":
        this.#addOutput(event.data);
        break;
      case "lane.note":
        this.#addNote(event.data);
        break;
      case "plan.changed":
        this.#changes.push({ type: "plan", steps: event.data.steps });
        break;
      case "background.started":
        this.#startBackground(event.data);
        break;
      case "background.ended":
        this.#endBackground(event.data);
        this.#note(backgroundEndedText(event.data));
        break;
      case "hook.ran":
        this.#note(hookText(event.data));
        break;
      case "rules.loaded":
        this.#note(rulesLine(event.data));
        break;
      case "session.configured":
        this.#note(configuredText(event.data), { topic: "settings" });
        break;
      case "session.moved":
        this.#note(movedText(event.data), { topic: "settings" });
        break;
      case "session.compacted":
        this.#note(compactedText(event.data), { topic: "context" });
        break;
      case "session.rewound":
        this.#changes.push({ type: "rewound", seq: event.seq, rewind: event.data });
        this.#note(rewoundText(event.data), {
          topic: "undo",
          ...(event.data.undo_of === undefined && { rewind_id: event.data.rewind_id }),
        });
        break;
      case "session.paused":
        this.#note(pausedText(event.data));
        break;
      case "session.resumed":
        this.#note(SESSION_RESUMED);
        break;
      case "session.ended":
        this.#note(endedText(event.data));
        break;
      case "daemon.reloaded":
        this.#note(reloadedText(event.data));
        break;
    }
  }

  // ── messages ─────────────────────────────────────────────────────────────────────────────────

  #addUser(
    { message_id, text, attachments, client_message_id, delivery }: EventData["user.message"],
  ): void {
    const queued = this.#queued.find((it) => it.message_id === message_id);
    if (queued !== undefined) this.#changes.push({ type: "removed", item: queued });
    this.#queued = this.#queued.filter((it) => it !== queued);
    const item = this.#add<UserItem>({
      ...this.#shown(),
      kind: "user",
      text,
      message_id,
      attachments,
      client_message_id,
      delivery,
      waits: this.#turn || delivery !== undefined,
    });
    this.#unseen.push(item);
  }

  /** A message waits for a turn of its own. */
  #queue(
    { message_id, text, attachments, client_message_id }: LaterMessage,
    seq = this.#event.seq,
  ): void {
    this.#queued.push(this.#add<UserItem>({
      ...this.#shown(),
      key: `queued-${message_id}`,
      seq,
      kind: "user",
      text,
      message_id,
      attachments,
      client_message_id,
      delivery: "queue",
      waits: true,
      queued: true,
    }));
  }

  /** A turn started that answers the messages up to a seq. */
  #begun(seq: number): void {
    for (const item of this.#unseen) {
      if (item.seq > seq || !item.waits) continue;
      item.waits = false;
      this.#changed(item);
    }
  }

  /** A model call says something: what steers the turn and came before the call, it has read. */
  #called(): void {
    for (const item of this.#unseen) {
      if (!item.waits || item.delivery !== "steer" || item.seq > this.#step_seq) continue;
      item.waits = false;
      this.#changed(item);
    }
  }

  /** A model call has seen the messages up to a seq. */
  #seen(seq: number): void {
    if (this.#unseen.length === 0) return;
    this.#begun(seq);
    this.#unseen = this.#unseen.filter((item) => item.seq > seq);
  }

  #withdraw({ messages, queued }: EventData["user.withdrawn"]): void {
    const gone = new Set(messages.map(({ seq }) => seq));
    for (const item of [...this.#unseen, ...this.#queued]) {
      if (!gone.has(item.seq)) continue;
      this.#changes.push({ type: "removed", item });
      if (queued === undefined) this.#note(takenBackText(item.text));
    }
    this.#unseen = this.#unseen.filter(({ seq }) => !gone.has(seq));
    this.#queued = this.#queued.filter(({ seq }) => !gone.has(seq));
    if (queued !== undefined) this.#queue(queued);
  }

  #addText(text: string): void {
    if (this.#text === undefined) {
      this.#text = this.#add<TextItem>({ ...this.#shown(), kind: "text", text });
    } else this.#grow(this.#text, text);
  }

  #addThought(text: string): void {
    if (this.#thought === undefined) {
      this.#thought = this.#add<ThoughtItem>({ ...this.#shown(), kind: "thought", text });
    } else this.#grow(this.#thought, text);
  }

  #endThought(): void {
    if (this.#thought === undefined) return;
    this.#thought.until = this.#event.at;
    this.#changed(this.#thought);
    this.#thought = undefined;
  }

  /** Drops text that the model says again. */
  #takeBackText(): void {
    if (this.#text !== undefined) this.#changes.push({ type: "removed", item: this.#text });
    this.#text = undefined;
  }

  // ── calls ────────────────────────────────────────────────────────────────────────────────────

  #addCall(call: Pick<ToolItem, "call_id" | "tool" | "args" | "outcome">): ToolItem {
    const key = callKey(this.#answer_seq, call.call_id);
    return this.#add<ToolItem>({ ...this.#shown(), key, kind: "tool", ...call });
  }

  /** Whether the end of a turn closed a call. */
  #isCutOff(call_id: string): boolean {
    return this.#cut_off?.calls.some((it) => it.call_id === call_id) ?? false;
  }

  #complete(call_id: string, outcome: ToolOutcome): void {
    const item = this.#calls.get(call_id);
    if (item === undefined) return;
    item.outcome = outcome;
    this.#calls.delete(call_id);
    this.#changed(item);
  }

  #addOutput({ lane_id, content_block, redraws }: EventData["lane.delta"]): void {
    if (lane_id === MAIN_LANE) return;
    this.#changes.push({ type: "lane_output", lane_id, text: content_block.text, redraws });
    for (const call of this.#calls.values()) if (call.lane_id === lane_id) this.#changed(call);
  }

  /** The call that started a command has it; without one, a note tells of it. */
  #startBackground(data: EventData["background.started"]): void {
    const item = data.call_id === undefined ? undefined : this.#calls.get(data.call_id);
    if (item === undefined) {
      this.#note(backgroundStartedText(data));
      return;
    }
    item.background = { command_id: data.command_id, started_at: this.#event.at };
    this.#background.set(data.command_id, item);
    this.#changedBackground(item);
  }

  #endBackground(ended: EventData["background.ended"]): void {
    const item = this.#background.get(ended.command_id);
    if (item?.background === undefined) return;
    Object.assign(item.background, { ended, ended_at: this.#event.at });
    this.#background.delete(ended.command_id);
    this.#changedBackground(item);
  }

  #changedBackground(item: ToolItem): void {
    item.revision++;
    this.#changes.push({ type: "background", item });
  }

  // ── questions ────────────────────────────────────────────────────────────────────────────────

  #ask(request: EventData["approval.requested"]): void {
    const { approval_id, call_id, lane_id } = request;
    const asked: Asked = { approval_id, waits: true };
    const call = this.#calls.get(call_id);
    const item = call ??
      this.#add<QuestionItem>({ ...this.#shown(), kind: "question", request, asked });
    if (call !== undefined) {
      call.asked = asked;
      this.#changed(call);
    }
    this.#questions.push({ approval_id, lane_id, request, item, asked });
    this.#changes.push({ type: "asked", item, request });
  }

  /** Settles the questions that an event ends. */
  #settle(event: SessionEvent): void {
    const left = stillPending(this.#questions, event);
    if (left === this.#questions) return;
    for (const question of this.#questions) {
      if (left.includes(question)) continue;
      const { item, asked, request } = question;
      asked.waits = false;
      item.revision++;
      this.#changes.push({ type: "settled", item, asked, request });
    }
    this.#questions = left;
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────

  #endTurn(data: EventData["turn.completed"]): void {
    this.#cut_off = { text: this.#text, calls: [...this.#calls.values()] };
    this.#text = this.#retry = undefined;
    for (const call_id of [...this.#calls.keys()]) this.#complete(call_id, NO_RESULT);
    const end = endOf(data);
    if (end.stop_reason === "ok") return;
    const note = this.#note(turnEndText(end), {
      tone: end.stop_reason === "cancelled" ? "plain" : "error",
      end,
      ...end.stop_reason === "interrupted" && { may_continue: true },
    });
    if (note.may_continue) this.#cut_off.note = note;
  }

  /** The model repeats half-written text, and open calls get their results. */
  #continueTurn(): void {
    const { text, calls } = this.#takeCutOff() ?? { text: this.#text, calls: [] };
    this.#text = text;
    this.#retry = undefined;
    this.#takeBackText();
    for (const call of calls) {
      call.outcome = undefined;
      this.#calls.set(call.call_id, call);
      this.#changed(call);
    }
  }

  #takeParked(): void {
    const note = this.#parked;
    this.#parked = undefined;
    if (note === undefined) return;
    note.may_continue = false;
    this.#changed(note);
  }

  /** Takes the items that may continue: they do, or another turn has started. */
  #takeCutOff(): CutOff | undefined {
    const cut_off = this.#cut_off;
    this.#cut_off = undefined;
    if (cut_off?.note) {
      cut_off.note.may_continue = false;
      this.#changed(cut_off.note);
    }
    return cut_off;
  }

  // ── notes ────────────────────────────────────────────────────────────────────────────────────

  #addNote(data: EventData["lane.note"]): void {
    const { text, reason_code, note } = data;
    if (isPin(data)) return;
    const tone = note === undefined
      ? "warning"
      : note.severity === "info"
      ? "plain"
      : note.severity;
    const retries = reason_code === MODEL_RETRY;
    if (retries) this.#takeBackText();
    if (retries && this.#retry !== undefined) {
      this.#retry.text = text;
      this.#changed(this.#retry);
      return;
    }
    const item = this.#note(text, { topic: "answer", tone });
    if (retries) this.#retry = item;
  }

  #note(text: string, more: Partial<NoteItem> = {}): NoteItem {
    return this.#add<NoteItem>({ ...this.#shown(), kind: "note", tone: "plain", text, ...more });
  }

  // ── changes ──────────────────────────────────────────────────────────────────────────────────

  #shown() {
    const { seq, at } = this.#event;
    return { key: `${seq}`, seq, at, revision: 0 };
  }

  #add<T extends Item>(item: T): T {
    this.#changes.push({ type: "added", item });
    return item;
  }

  /** Adds a kept item, by the key that it had; a call without a result may still get one. */
  #keep(kept: Unkeyed): Item {
    const { seq } = kept;
    const key = seq === 0
      ? `kept-${this.#kept++}`
      : kept.kind === "tool"
      ? callKey(seq, kept.call_id)
      : `${seq}`;
    const item: Item = { ...kept, key, at: this.#event.at, revision: 0 };
    if (item.kind === "tool" && item.outcome === undefined) this.#calls.set(item.call_id, item);
    if (item.kind === "user" && seq > 0) this.#unseen.push(item);
    if (item.kind === "text" || item.kind === "tool") this.#answer_seq = seq;
    return this.#add(item);
  }

  #grow(item: TextItem | ThoughtItem, text: string): void {
    item.text += text;
    item.revision++;
    this.#changes.push({ type: "grew", item, text });
  }

  #changed(item: Item): void {
    item.revision++;
    this.#changes.push({ type: "changed", item });
  }

  #taken(): Change[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }
}

/** Models use the ids of their calls again, in other answers. */
function callKey(answer_seq: number, call_id: string): string {
  return `${answer_seq} ${call_id}`;
}

function endOf({ stop_reason, error }: EventData["turn.completed"]): TurnEnd {
  return { stop_reason, ...error !== undefined && { error } };
}

/** Whether a note is about a lane's pin, which lists of lanes show. */
function isPin({ reason_code }: EventData["lane.note"]): boolean {
  return reason_code === PINNED || reason_code === UNPINNED;
}
