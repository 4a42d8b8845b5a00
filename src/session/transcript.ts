/**
 * The conversation of a session as the model sees it: a second fold over the same events. It is
 * built from the journal when a turn needs it and dropped when the session rests, so an idle
 * session costs no memory for its history.
 */
import type { Message, ToolCall, ToolResult } from "../agent/models/model.ts";
import { type CheckpointTranscript, MAIN_LANE, MODEL_RETRY, type SessionEvent } from "./events.ts";

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

type Item = Said | { step: Step };

interface Checkpointed {
  items: Item[];
  waiting: Said[];
  /** How many of the last outputs had not been elided. */
  full_outputs: number;
  recalled?: string[];
}

/**
 * Tool output kept in full, in characters. Past it the older half is replaced by a note at once, and
 * not call by call: the prompt's cached prefix breaks seldom.
 */
const OUTPUT_KEPT = 512 * 1024;
const ELIDED = "[output of an earlier call, no longer shown]";

export class Transcript {
  #items: Item[] = [];
  /** The step that the model is writing, or whose calls run. */
  #step: Step | undefined;
  /** Messages that arrived during the current step: they follow it. */
  #waiting: Said[] = [];
  /** Whether the current step's text is complete (its cost.tick came). */
  #written = false;
  #outputs: ToolResult[] = [];
  #output_length = 0;
  #recalled = new Set<string>();

  /** What a checkpoint keeps, taken between turns. */
  toCheckpoint(): CheckpointTranscript {
    return {
      items: this.#items,
      waiting: this.#waiting,
      full_outputs: this.#outputs.length,
      recalled: [...this.#recalled],
    };
  }

  #restore({ items, waiting, full_outputs, recalled }: Checkpointed): void {
    this.#items = items;
    this.#waiting = waiting;
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
        break;
      case "memory.recalled": {
        const about = this.#waiting.at(-1);
        if (about !== undefined) about.memory = event.data.text;
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
        break;
      }
      case "session.tool_started": {
        const { call_id, tool, args, echo } = event.data;
        this.#step?.calls.push({ call_id, tool, args, echo });
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

  /** The conversation for the next model call. */
  messages(): Message[] {
    const out: Message[] = [];
    for (const item of [...this.#items, ...this.#waiting]) {
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
    return this.#waiting.map(({ user }) => user);
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
    return this.#waiting.length > 0;
  }

  #openStep(seq: number): Step {
    if (this.#step === undefined || this.#written) {
      this.#step = { first_seq: seq, text: "", calls: [], results: [] };
      this.#written = false;
    }
    return this.#step;
  }

  #place(seen_seq: number): void {
    while (this.#waiting.length > 0 && this.#waiting[0].seq <= seen_seq) {
      this.#items.push(this.#waiting.shift()!);
    }
  }

  #addResult(result: ToolResult): void {
    this.#step?.results.push(result);
    this.#outputs.push(result);
    this.#output_length += result.output.length;
    if (this.#output_length <= OUTPUT_KEPT) return;
    while (this.#output_length > OUTPUT_KEPT / 2 && this.#outputs.length > 1) {
      const oldest = this.#outputs.shift()!;
      this.#output_length -= oldest.output.length;
      if (oldest.output.length > ELIDED.length) oldest.output = ELIDED;
    }
  }
}
