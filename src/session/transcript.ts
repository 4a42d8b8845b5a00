/**
 * The conversation as the model sees it, a second fold over the events. It is read from the journal
 * for a turn and dropped when the session rests, so an idle session needs no memory for it.
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

/** Tokens of the first items, as measured by a model call. */
interface Measured {
  tokens: number;
  items: number;
}

interface Checkpointed {
  items: Item[];
  waiting: (Said | Context | Notice)[];
  /** Whether earlier items were left out. */
  shortened?: boolean;
  recalled?: string[];
  plan?: string;
  measured?: Measured;
  learned?: LearnedLimit;
  refused_tokens?: number;
  /** The step being written, or whether the last item's calls run. */
  writing?: Step;
  running?: boolean;
  /** Of the interrupted turn; its step is the last of the items. */
  cut?: Omit<Cut, "step">;
}

/** A limit that a provider named in a refusal. */
interface LearnedLimit {
  model: string;
  tokens: number;
}

/**
 * Characters to keep, more than any model takes: past it the older half goes, to bound checkpoints
 * and memory. Compaction usually keeps conversations far below.
 */
const CONVERSATION_KEPT = 16 * 1024 * 1024;

export class Transcript {
  #items: Item[] = [];
  /** The step that is being written or whose calls run. */
  #step: Step | undefined;
  /** Arrived during the current step: first what svc told, then the messages. */
  #waiting: (Said | Context | Notice)[] = [];
  /** Whether the current step's text is complete, with its cost.tick. */
  #written = false;
  #cut: Cut | undefined;
  #measured: Measured | undefined;
  #learned: LearnedLimit | undefined;
  #refused_tokens: number | undefined;
  /** Characters of items and waiting messages. */
  #length = 0;
  #shortened = false;
  #recalled = new Set<string>();
  /** The plan, if it has open steps. */
  #plan: string | undefined;

  /** The data for a checkpoint. It shares objects with the transcript: write it at once. */
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

  /** Restores the conversation of a checkpoint. */
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
        // Some servers count no tokens.
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
        // A call's result contains its hooks' notices.
        if (notice === undefined || on.startsWith("tool.")) break;
        // Before the messages: recalled memory is added to the last one.
        const at = this.#waiting.findLastIndex((it) => "told" in it) + 1;
        this.#waiting.splice(at, 0, { notice, seq: event.seq, about: "hook" });
        this.#grow(notice.length);
        break;
      }
      case "session.rewound": {
        // Otherwise the model would believe that its changes are still there.
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

  /** The conversation without svc's own texts. */
  messages(): Message[] {
    return this.prompt().flatMap((it): Message[] => {
      if (it.role !== "context") return [it];
      return it.summary ? [{ role: "user", text: it.text, notice: true }] : [];
    });
  }

  /** The input of the next model call. */
  prompt(): (Message | Told)[] {
    return promptOf(this.items, this.#shortened);
  }

  /** The conversation, oldest first, with waiting messages at its end. */
  get items(): readonly Item[] {
    return [...this.#items, ...this.#waiting];
  }

  /** The provider's last count or a compaction's estimate; undefined before both. */
  get measured(): Readonly<Measured> | undefined {
    return this.#measured;
  }

  /** The limit that a provider named for a model in a refusal. */
  learnedLimit(model: string): number | undefined {
    return this.#learned?.model === model ? this.#learned.tokens : undefined;
  }

  /** Tokens left after a refusal; undefined once a model answered or another was chosen. */
  get refused_tokens(): number | undefined {
    return this.#refused_tokens;
  }

  /** Messages that no model call has seen. */
  get waiting(): string[] {
    return this.#waiting.flatMap((it) => "user" in it ? [it.user] : []);
  }

  /** Ids of the memory entries in the conversation. */
  get recalled(): ReadonlySet<string> {
    return this.#recalled;
  }

  /** Text of the answer being written. */
  get writing(): string {
    return this.#written ? "" : this.#step?.text ?? "";
  }

  /** Whether a message waits for a model call. */
  get unanswered(): boolean {
    return this.#waiting.some((it) => "user" in it);
  }

  /** Closes the step at a turn's end: each call needs a result for the model. */
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

  /** Restores the conversation from before a cut-off; half-written text is dropped. */
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

  /** Applies a compaction; the result depends on its event only. */
  #compact(data: EventData["session.compacted"], seq: number): void {
    const { outputs_seq = 0, until_seq, told_again, text_max, told_max, learned } = data;
    // A compaction runs between two steps.
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
      // Messages come first: after the summary they would look unanswered.
      this.#items.splice(0, last + 1, ...told, ...kept, { summary, files, plan: this.#plan, seq });
      // Memory may recall the entries again.
      this.#recalled.clear();
      this.#shortened = false;
    }
    if (data.attachments !== undefined) leaveOutAttachments(this.items, data.attachments);
    leaveOutOutputs(this.#items, outputs_seq);
    // Earlier versions did this only when they cut the rest.
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

  /** Drops the oldest items of a too long conversation, except current ones and svc's texts. */
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
