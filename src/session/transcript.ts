/**
 * The conversation of a session as the model sees it: a second fold over the same events. It is
 * built from the journal when a turn needs it and dropped when the session rests, so an idle
 * session costs no memory for its history.
 */
import type { Message, Told, ToolCall, ToolResult } from "../models/model.ts";
import {
  type CheckpointTranscript,
  MAIN_LANE,
  MODEL_RETRY,
  type SessionEvent,
} from "../protocol/events.ts";

interface Step {
  /** seq of its first event: what was sent later, the model had not seen. */
  first_seq: number;
  text: string;
  calls: ToolCall[];
  results: ToolResult[];
}

/** A message of the person, and what the memory had about it. */
interface Said {
  user: string;
  seq: number;
  memory?: string;
}

/** What svc told the model: of the session, or rules. Never left out, however long it gets. */
interface Context {
  told: string;
  seq: number;
}

type Item = Said | Context | { step: Step };

interface Checkpointed {
  items: Item[];
  waiting: (Said | Context)[];
  /** Whether there were items before these. */
  shortened?: boolean;
  /** How many of the last outputs had not been elided. */
  full_outputs: number;
  recalled?: string[];
  /** The step that is being written, or whether the last item is the one whose calls run. */
  writing?: Step;
  running?: boolean;
}

/**
 * Tool output kept in full, in characters. Past it the older half is replaced by a note at once, and
 * not call by call: the prompt's cached prefix breaks seldom.
 */
const OUTPUT_KEPT = 512 * 1024;
const ELIDED = "[output of an earlier call, no longer shown]";
/**
 * Characters of a conversation that are kept, more than any model takes: past it the older half is
 * left out, so that neither a checkpoint nor a session in memory grows without end.
 */
const CONVERSATION_KEPT = 16 * 1024 * 1024;
const SHORTENED = "[the conversation before this is no longer kept]";

export class Transcript {
  #items: Item[] = [];
  /** The step that the model is writing, or whose calls run. */
  #step: Step | undefined;
  /** What arrived during the current step and follows it: first what svc told, then the messages. */
  #waiting: (Said | Context)[] = [];
  /** Whether the current step's text is complete (its cost.tick came). */
  #written = false;
  #outputs: ToolResult[] = [];
  #output_length = 0;
  /** Characters of items and waiting messages. */
  #length = 0;
  #shortened = false;
  #recalled = new Set<string>();

  /** What a checkpoint keeps. It shares its parts with the transcript: to be written at once. */
  toCheckpoint(): CheckpointTranscript {
    const open = this.#step === undefined
      ? {}
      : this.#written
      ? { running: true }
      : { writing: this.#step };
    return {
      ...open,
      items: this.#items,
      waiting: this.#waiting,
      shortened: this.#shortened,
      full_outputs: this.#outputs.length,
      recalled: [...this.#recalled],
    };
  }

  /** The conversation that a checkpoint keeps. */
  static from(kept: CheckpointTranscript): Transcript {
    const transcript = new Transcript();
    transcript.#restore(kept as unknown as Checkpointed);
    return transcript;
  }

  #restore(kept: Checkpointed): void {
    const { items, waiting, shortened = false, full_outputs, recalled, writing, running } = kept;
    const last = items.at(-1);
    this.#step = running && last !== undefined && "step" in last ? last.step : writing;
    this.#written = this.#step !== undefined && this.#step !== writing;
    this.#items = items;
    this.#waiting = waiting;
    this.#shortened = shortened;
    this.#length = [...items, ...waiting].reduce((sum, it) => sum + lengthOf(it), 0);
    this.#recalled = new Set(recalled);
    const results = items.flatMap((item) => "step" in item ? item.step.results : []);
    this.#outputs = results.slice(results.length - full_outputs);
    this.#output_length = this.#outputs.reduce((sum, it) => sum + it.output.length, 0);
  }

  /** Applies one event, in seq order. */
  apply(event: SessionEvent): void {
    switch (event.type) {
      case "session.checkpoint":
        this.#restore(event.data.transcript as unknown as Checkpointed);
        break;
      case "user.message":
        this.#waiting.push({ user: event.data.text, seq: event.seq });
        this.#grow(event.data.text.length);
        break;
      case "context.told":
      case "rules.loaded": {
        const { text } = event.data;
        if (text === "") break;
        const at = this.#waiting.findLastIndex((it) => "told" in it) + 1;
        this.#waiting.splice(at, 0, { told: text, seq: event.seq });
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
        break;
      case "cost.tick": {
        if ((event.data.lane_id ?? MAIN_LANE) !== MAIN_LANE) break;
        const step = this.#openStep(event.seq);
        this.#place(event.data.seen_seq);
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
        const { call_id, tool, ok, output } = event.data;
        this.#addResult({ call_id, tool, ok, output });
        break;
      }
      case "turn.completed": {
        const step = this.#step;
        if (step !== undefined && !this.#written && step.text !== "") {
          this.#place(step.first_seq);
          this.#items.push({ step });
          this.#grow(step.text.length);
        }
        for (const call of step?.calls ?? []) {
          if (!step!.results.some((result) => result.call_id === call.call_id)) {
            const { call_id, tool } = call;
            this.#addResult({ call_id, tool, ok: false, output: "interrupted, no result" });
          }
        }
        this.#step = undefined;
        this.#written = false;
        break;
      }
    }
  }

  /** The conversation, without what svc told the model. */
  messages(): Message[] {
    return this.prompt().filter((it) => it.role !== "context");
  }

  /** What the next model call is given. */
  prompt(): (Message | Told)[] {
    const out: (Message | Told)[] = this.#shortened ? [{ role: "user", text: SHORTENED }] : [];
    for (const item of [...this.#items, ...this.#waiting]) {
      if ("told" in item) {
        out.push({ role: "context", text: item.told });
        continue;
      }
      if ("user" in item) {
        const { user: text, memory } = item;
        out.push(memory === undefined ? { role: "user", text } : { role: "user", text, memory });
        continue;
      }
      const { calls, results } = item.step;
      // What set it apart from the step before is not the model's.
      const text = item.step.text.replace(/^\n+/, "");
      if (text === "" && calls.length === 0) continue;
      out.push({ role: "assistant", text, calls });
      if (results.length > 0) out.push({ role: "tool", results });
    }
    return out;
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

  #addResult(result: ToolResult): void {
    if (this.#step === undefined) return;
    this.#step.results.push(result);
    this.#outputs.push(result);
    this.#output_length += result.output.length;
    this.#grow(result.output.length);
    if (this.#output_length <= OUTPUT_KEPT) return;
    while (this.#output_length > OUTPUT_KEPT / 2 && this.#outputs.length > 1) {
      const oldest = this.#outputs.shift()!;
      this.#output_length -= oldest.output.length;
      if (oldest.output.length <= ELIDED.length) continue;
      this.#length -= oldest.output.length - ELIDED.length;
      oldest.output = ELIDED;
    }
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
      for (const result of "step" in oldest ? oldest.step.results : []) {
        if (this.#outputs[0] !== result) continue;
        this.#outputs.shift();
        this.#output_length -= result.output.length;
      }
    }
  }
}

function mayGo(item: Item): item is Exclude<Item, Context> {
  return !("told" in item);
}

/** Characters of an item. */
function lengthOf(item: Item): number {
  if ("told" in item) return item.told.length;
  if ("user" in item) return item.user.length + (item.memory?.length ?? 0);
  const { text, calls, results } = item.step;
  return text.length + calls.reduce((sum, it) => sum + callLength(it), 0) +
    results.reduce((sum, it) => sum + it.output.length, 0);
}

function callLength({ args, echo }: ToolCall): number {
  return JSON.stringify([args, echo]).length;
}
