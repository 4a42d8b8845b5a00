/**
 * The conversation of a session as the model sees it: a second fold over the same events. It is
 * built from the journal when a turn needs it and dropped when the session rests, so an idle
 * session costs no memory for its history.
 */
import type { Message, Told } from "../models/model.ts";
import { endNotice } from "../protocol/background_text.ts";
import { planIsOpen, planText } from "../protocol/plan_text.ts";
import {
  type CheckpointTranscript,
  type EventData,
  MAIN_LANE,
  MODEL_RETRY,
  MODEL_TOLD,
  type SessionEvent,
} from "../protocol/events.ts";
import { toldAgain } from "./repeated_context.ts";
import {
  attached,
  callLength,
  type Context,
  type Cut,
  filesRewound,
  type Item,
  itemSeq,
  lengthOf,
  mayGo,
  type Notice,
  openCalls,
  promptOf,
  type Result,
  type Said,
  type Step,
} from "./transcript_items.ts";
import { cutTexts, cutTold, leaveOutAttachments, leaveOutOutputs } from "./transcript_room.ts";

/** What a model call measured: the tokens of the first items. */
interface Measured {
  tokens: number;
  items: number;
}

interface Checkpointed {
  items: Item[];
  waiting: (Said | Context | Notice)[];
  /** Whether there were items before these. */
  shortened?: boolean;
  recalled?: string[];
  plan?: string;
  measured?: Measured;
  learned?: LearnedLimit;
  refused_tokens?: number;
  /** The step that is being written, or whether the last item is the one whose calls run. */
  writing?: Step;
  running?: boolean;
  /** Of the interrupted turn; its step is the last one of the items. */
  cut?: Omit<Cut, "step">;
}

/** A limit that a provider named when it refused a conversation. */
export interface LearnedLimit {
  model: string;
  tokens: number;
}

/**
 * Characters of a conversation that are kept, more than any model takes: past it the older half is
 * left out, so that neither a checkpoint nor a session in memory grows without end. Compaction keeps
 * the conversation of a model far below it.
 */
const CONVERSATION_KEPT = 16 * 1024 * 1024;

export class Transcript {
  #items: Item[] = [];
  /** The step that the model is writing, or whose calls run. */
  #step: Step | undefined;
  /** What arrived during the current step and follows it: first what svc told, then the messages. */
  #waiting: (Said | Context | Notice)[] = [];
  /** Whether the current step's text is complete (its cost.tick came). */
  #written = false;
  #cut: Cut | undefined;
  #measured: Measured | undefined;
  #learned: LearnedLimit | undefined;
  #refused_tokens: number | undefined;
  /** Characters of items and waiting messages. */
  #length = 0;
  #shortened = false;
  #recalled = new Set<string>();
  /** The plan, if steps of it are open. */
  #plan: string | undefined;

  /** What a checkpoint keeps. It shares its parts with the transcript: to be written at once. */
  toCheckpoint(): CheckpointTranscript {
    const open = this.#step === undefined
      ? {}
      : this.#written
      ? { running: true }
      : { writing: this.#step };
    const { step: _, ...cut } = this.#cut ?? {};
    return {
      ...open,
      items: this.#items,
      waiting: this.#waiting,
      shortened: this.#shortened,
      recalled: [...this.#recalled],
      plan: this.#plan,
      measured: this.#measured,
      learned: this.#learned,
      refused_tokens: this.#refused_tokens,
      cut: this.#cut && cut,
    };
  }

  /** The conversation that a checkpoint keeps. */
  static from(kept: CheckpointTranscript): Transcript {
    const transcript = new Transcript();
    transcript.#restore(kept as unknown as Checkpointed);
    return transcript;
  }

  #restore(kept: Checkpointed): void {
    const { items, waiting, shortened = false, recalled, measured, writing, running } = kept;
    const last = items.at(-1);
    this.#step = running && last !== undefined && "step" in last ? last.step : writing;
    this.#written = this.#step !== undefined && this.#step !== writing;
    const stopped = items.findLast((it) => "step" in it)?.step;
    this.#cut = kept.cut && stopped && { ...kept.cut, step: stopped };
    this.#items = items;
    this.#waiting = waiting;
    this.#shortened = shortened;
    this.#recalled = new Set(recalled);
    this.#plan = kept.plan;
    this.#measured = measured;
    this.#learned = kept.learned;
    this.#refused_tokens = kept.refused_tokens;
    this.#measureLength();
  }

  #measureLength(): void {
    this.#length = [...this.#items, ...this.#waiting].reduce((sum, it) => sum + lengthOf(it), 0);
  }

  /** Applies one event, in seq order. */
  apply(event: SessionEvent): void {
    switch (event.type) {
      case "session.checkpoint":
        this.#restore(event.data.transcript as unknown as Checkpointed);
        break;
      case "user.message":
        this.#waiting.push({
          user: event.data.text,
          seq: event.seq,
          ...attached(event.data.attachments),
        });
        this.#grow(event.data.text.length);
        break;
      case "user.withdrawn": {
        const gone = new Set(event.data.messages.map(({ seq }) => seq));
        this.#waiting = this.#waiting.filter((it) => !("user" in it && gone.has(it.seq)));
        this.#measureLength();
        break;
      }
      case "context.told":
      case "rules.loaded": {
        const { text, parts } = event.data;
        if (text === "") break;
        const at = this.#waiting.findLastIndex((it) => "told" in it) + 1;
        const files = event.type === "rules.loaded"
          ? { files: [...event.data.files.map(({ path }) => path), ...event.data.removed ?? []] }
          : {};
        this.#waiting.splice(at, 0, { told: text, seq: event.seq, ...files, parts });
        this.#grow(text.length);
        break;
      }
      case "memory.recalled": {
        const about = this.#waiting.at(-1);
        if (about !== undefined && "user" in about) {
          about.memory = event.data.text;
          this.#grow(event.data.text.length);
        }
        for (const { entry_id } of event.data.entries) this.#recalled.add(entry_id);
        break;
      }
      case "session.delta":
        this.#openStep(event.seq).text += event.data.text;
        break;
      case "lane.note":
        if (event.data.reason_code === MODEL_RETRY && !this.#written) this.#step = undefined;
        if (event.data.reason_code === MODEL_TOLD) {
          this.#waiting.push({ notice: event.data.text, seq: event.seq });
          this.#grow(event.data.text.length);
        }
        break;
      case "turn.started":
        this.#cut = undefined;
        break;
      case "turn.continued":
        this.#continue();
        break;
      case "cost.tick": {
        if ((event.data.lane_id ?? MAIN_LANE) !== MAIN_LANE) break;
        const step = this.#openStep(event.seq);
        this.#refused_tokens = undefined;
        this.#place(event.data.seen_seq);
        // Some servers count nothing.
        const { tokens_in: tokens, echo } = event.data;
        if (echo !== undefined) {
          step.echo = echo;
          this.#grow(JSON.stringify(echo).length);
        }
        this.#measured = tokens > 0 ? { tokens, items: this.#items.length } : undefined;
        this.#items.push({ step });
        this.#written = true;
        this.#grow(step.text.length);
        break;
      }
      case "session.tool_started": {
        if (this.#step === undefined) break;
        const { call_id, tool, args, echo } = event.data;
        const call = { call_id, tool, args, echo };
        this.#step.calls.push(call);
        this.#grow(callLength(call));
        break;
      }
      case "session.tool_completed": {
        const { call_id, tool, ok, output, attachments } = event.data;
        const result = { call_id, tool, ok, output, seq: event.seq };
        this.#addResult({ ...result, ...attached(attachments) });
        break;
      }
      case "background.ended": {
        const notice = endNotice(event.data);
        if (notice === undefined) break;
        this.#waiting.push({ notice, seq: event.seq, about: "background" });
        this.#grow(notice.length);
        break;
      }
      case "hook.ran": {
        const { on, context: notice } = event.data;
        // The result of a call has what was told about the call.
        if (notice === undefined || on.startsWith("tool.")) break;
        // Before the messages: the memory adds what it knows to the last one.
        const at = this.#waiting.findLastIndex((it) => "told" in it) + 1;
        this.#waiting.splice(at, 0, { notice, seq: event.seq, about: "hook" });
        this.#grow(notice.length);
        break;
      }
      case "session.rewound": {
        // Without it the model would take its changes of files for made.
        if (event.data.files === undefined || event.data.conversation !== undefined) break;
        const notice = filesRewound(event.data.undo_of !== undefined);
        this.#waiting.push({ notice, about: "files", seq: event.seq });
        this.#grow(notice.length);
        break;
      }
      case "plan.changed": {
        const { steps } = event.data;
        this.#plan = planIsOpen(steps) ? planText(steps) : undefined;
        break;
      }
      case "session.compacted":
        this.#compact(event.data, event.seq);
        break;
      case "session.configured":
        if (event.data.model !== undefined) this.#refused_tokens = undefined;
        break;
      case "turn.completed": {
        this.#endStep(event.data.stop_reason === "interrupted");
        break;
      }
    }
  }

  /** The conversation, without what svc told the model. */
  messages(): Message[] {
    return this.prompt().flatMap((it): Message[] => {
      if (it.role !== "context") return [it];
      return it.summary ? [{ role: "user", text: it.text, notice: true }] : [];
    });
  }

  /** What the next model call is given. */
  prompt(): (Message | Told)[] {
    return promptOf(this.items, this.#shortened);
  }

  /** The parts of the conversation, oldest first, with the messages that wait at its end. */
  get items(): readonly Item[] {
    return [...this.#items, ...this.#waiting];
  }

  /** What the provider counted last, or a compaction estimated; undefined before both. */
  get measured(): Readonly<Measured> | undefined {
    return this.#measured;
  }

  /** The limit that a provider named for a model when it refused the conversation. */
  learnedLimit(model: string): number | undefined {
    return this.#learned?.model === model ? this.#learned.tokens : undefined;
  }

  /**
   * What is left, in tokens, of a conversation that was shortened because its model had refused it;
   * undefined once a model has answered, or another was chosen.
   */
  get refused_tokens(): number | undefined {
    return this.#refused_tokens;
  }

  /** The messages that no model call has seen. */
  get waiting(): string[] {
    return this.#waiting.flatMap((it) => "user" in it ? [it.user] : []);
  }

  /** Ids of the memory's entries that the conversation has. */
  get recalled(): ReadonlySet<string> {
    return this.#recalled;
  }

  /** Text of the answer that the model is writing, as far as it has come. */
  get writing(): string {
    return this.#written ? "" : this.#step?.text ?? "";
  }

  /** Whether a message was sent that no model call has seen. */
  get unanswered(): boolean {
    return this.#waiting.some((it) => "user" in it);
  }

  /** Closes the step in which a turn has ended: each call that a model is shown has a result. */
  #endStep(may_continue: boolean): void {
    const step = this.#step;
    const written = this.#written;
    if (step === undefined) return;
    const kept = written || step.text !== "";
    if (!written && kept) {
      this.#place(step.first_seq);
      this.#items.push({ step });
      this.#grow(step.text.length);
    }
    const open = openCalls(step);
    for (const { call_id, tool } of open) {
      this.#addResult({ call_id, tool, ok: false, output: "interrupted, no result" });
    }
    const unanswered = open.map(({ call_id }) => call_id);
    this.#cut = may_continue && kept ? { step, written, unanswered } : undefined;
    this.#step = undefined;
    this.#written = false;
  }

  /** Has the conversation be as before its turn was cut off; what was only half said is void. */
  #continue(): void {
    const cut = this.#cut;
    this.#cut = undefined;
    if (cut === undefined) {
      if (!this.#written) this.#step = undefined;
      return;
    }
    const { step, written, unanswered } = cut;
    if (written) {
      step.results = step.results.filter(({ call_id }) => !unanswered.includes(call_id));
      this.#step = step;
      this.#written = true;
    } else this.#items = this.#items.filter((it) => !("step" in it) || it.step !== step);
    this.#measureLength();
  }

  #openStep(seq: number): Step {
    if (this.#step === undefined || this.#written) {
      this.#step = { first_seq: seq, text: "", calls: [], results: [] };
      this.#written = false;
    }
    return this.#step;
  }

  #place(seen_seq: number): void {
    const seen = ({ seq }: { seq: number }) => seq <= seen_seq;
    this.#items.push(...this.#waiting.filter(seen));
    this.#waiting = this.#waiting.filter((it) => !seen(it));
  }

  #addResult(result: Result): void {
    if (this.#step === undefined) return;
    this.#step.results.push(result);
    this.#grow(result.output.length);
  }

  /** Makes room as a compaction decided; what is still written down follows from its event alone. */
  #compact(data: EventData["session.compacted"], seq: number): void {
    const { outputs_seq = 0, until_seq, told_again, text_max, told_max, learned } = data;
    // It is between two steps.
    this.#step = undefined;
    this.#written = false;
    this.#cut = undefined;
    this.#learned = learned ?? this.#learned;
    if (data.reason === "too_long") this.#refused_tokens = data.tokens_after;
    const last = until_seq === undefined
      ? -1
      : this.#items.findIndex((item) => itemSeq(item) === until_seq);
    if (last >= 0) {
      const { summary = "", files = [], kept_seqs = [] } = data;
      const gone = this.#items.slice(0, last + 1);
      const told = gone.filter((item) => "told" in item);
      const kept = gone.filter((item) => "user" in item && kept_seqs.includes(item.seq));
      // What was said comes first: after the summary it would look as if it were still to be done.
      this.#items.splice(0, last + 1, ...told, ...kept, { summary, files, plan: this.#plan, seq });
      // The memory may be asked for them again.
      this.#recalled.clear();
      this.#shortened = false;
    }
    if (data.attachments !== undefined) leaveOutAttachments(this.items, data.attachments);
    leaveOutOutputs(this.#items, outputs_seq);
    // Earlier versions left it out only where they cut the rest.
    if (told_again || told_max !== undefined) this.#leaveOutToldAgain();
    if (text_max !== undefined) cutTexts(this.items, text_max);
    if (told_max !== undefined) cutTold(this.items, told_max);
    this.#measureLength();
    const waiting = this.#waiting.filter((it) => it.seq <= data.seen_seq);
    this.#measured = {
      tokens: data.tokens_after,
      items: this.#items.length + waiting.length,
    };
  }

  #leaveOutToldAgain(): void {
    const again = toldAgain<Item>(this.items);
    const stays = (item: Item) => !again.has(item) || again.get(item) !== undefined;
    this.#items = this.#items.filter(stays);
    this.#waiting = this.#waiting.filter(stays);
    for (const [item, left] of again) Object.assign(item, left);
  }

  /**
   * Leaves out what is oldest when the conversation has become too long; never what is going on or
   * what svc told.
   */
  #grow(by: number): void {
    this.#length += by;
    if (this.#length <= CONVERSATION_KEPT) return;
    while (this.#length > CONVERSATION_KEPT / 2) {
      const from = this.#items.some(mayGo) ? this.#items : this.#waiting;
      const oldest = from.find(mayGo);
      if (oldest === undefined || oldest === this.#waiting.findLast(mayGo)) return;
      if ("step" in oldest && oldest.step === this.#step) return;
      from.splice((from as Item[]).indexOf(oldest), 1);
      this.#length -= lengthOf(oldest);
      this.#shortened = true;
      this.#measured = undefined;
    }
  }
}
