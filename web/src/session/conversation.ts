/**
 * What a person sees of a session: a fold over its events. It holds what is shown and nothing else;
 * what the session is in, its lanes and approvals are in the daemon's own fold, `state.ts`.
 */
import { compactedText } from "../../../src/protocol/compacted_text.ts";
import { configuredText } from "../../../src/protocol/configured_text.ts";
import {
  aboutAnswer,
  MAIN_LANE,
  MODEL_RETRY,
  type SessionEvent,
} from "../../../src/protocol/events.ts";
import { stopLabel } from "../../../src/protocol/stop_reasons.ts";
import { rulesLine } from "../../../src/base/rules_line.ts";

interface Shown {
  /** Stays the same for as long as the item is there. */
  key: string;
  at: string;
  /** Grows with every change. */
  revision: number;
}

export interface UserItem extends Shown {
  kind: "user";
  text: string;
}

/** What the model said in one step. */
export interface TextItem extends Shown {
  kind: "text";
  text: string;
}

export interface ToolItem extends Shown {
  kind: "tool";
  call_id: string;
  tool: string;
  args: unknown;
  /** Where its output goes while it runs, once it runs for long. */
  lane_id?: string;
  decision?: string;
  /** For an approval. */
  waits: boolean;
  outcome?: ToolOutcome;
}

export interface ToolOutcome {
  ok: boolean;
  output: string;
  truncated: boolean;
  /** Absent in what retention has rewritten. */
  duration_ms?: number;
  /** Of a command that ran to its end. */
  exit_code?: number;
}

/** Something that happened to the session. */
export interface NoteItem extends Shown {
  kind: "note";
  tone: "plain" | "warning" | "error";
  text: string;
}

export type Item = UserItem | TextItem | ToolItem | NoteItem;

/** What a checkpoint keeps of the conversation (src/session/transcript.ts). */
interface Kept {
  items: KeptItem[];
  waiting: KeptItem[];
  /** Whether there were items before these. */
  shortened?: boolean;
}

type KeptItem = { user: string } | { notice: string } | { told: string } | { summary: string } | {
  step: {
    text: string;
    calls: { call_id: string; tool: string; args: unknown }[];
    results: { call_id: string; ok: boolean; output: string }[];
  };
};

/** Characters of a lane's output that are kept: the last ones. */
const LANE_OUTPUT_MAX = 256 * 1024;

export class Conversation {
  readonly items: Item[] = [];
  /** Output of the lanes beside the main one. */
  readonly lane_output = new Map<string, string>();
  /** Text of the step that the model is writing. */
  #text: TextItem | undefined;
  #calls = new Map<string, ToolItem>();
  #approvals = new Map<string, ToolItem>();

  /** Applies one event, in seq order. */
  apply(event: SessionEvent): void {
    const { at } = event;
    const key = String(event.seq);
    switch (event.type) {
      case "session.checkpoint":
        this.#restore(event.data.transcript as unknown as Kept, at);
        break;
      case "user.message":
        this.#add({ kind: "user", key, at, revision: 0, text: event.data.text });
        break;
      case "session.delta":
        this.#addText(key, at, event.data.text);
        break;
      case "cost.tick":
        this.#text = undefined;
        break;
      case "session.tool_started": {
        const { call_id, tool, args } = event.data;
        this.#addCall({ kind: "tool", key, at, revision: 0, call_id, tool, args, waits: false });
        break;
      }
      case "session.tool_completed": {
        const { call_id, ok, output, truncated, duration_ms, exit_code } = event.data;
        this.#complete(call_id, { ok, output, truncated, duration_ms, exit_code });
        break;
      }
      case "approval.requested": {
        const call = this.#calls.get(event.data.call_id);
        if (call === undefined) break;
        this.#approvals.set(event.data.approval_id, call);
        call.waits = true;
        call.revision++;
        break;
      }
      case "approval.resolved": {
        const call = this.#approvals.get(event.data.approval_id);
        if (call === undefined) break;
        call.decision = event.data.decision;
        call.waits = false;
        call.revision++;
        this.#approvals.delete(event.data.approval_id);
        break;
      }
      case "turn.completed":
        this.#endTurn(key, at, event.data);
        break;
      case "lane.created": {
        const call = event.data.call_id && this.#calls.get(event.data.call_id);
        if (!call) break;
        call.lane_id = event.data.lane_id;
        call.revision++;
        break;
      }
      case "lane.delta":
        this.#addOutput(event.data.lane_id, event.data.content_block.text);
        break;
      case "lane.note":
        if (event.data.reason_code === MODEL_RETRY) this.#takeBackText();
        if (!aboutAnswer(event.data.reason_code)) break;
        this.#note(key, at, "warning", event.data.text);
        break;
      case "rules.loaded":
        this.#note(key, at, "plain", rulesLine(event.data));
        break;
      case "session.configured":
        this.#note(key, at, "plain", `Settings: ${configuredText(event.data)}`);
        break;
      case "session.compacted":
        this.#note(key, at, "plain", `Context: ${compactedText(event.data)}`);
        break;
      case "session.paused":
        this.#note(
          key,
          at,
          "plain",
          event.data.reason === "operator" ? "Paused" : "Paused: the daemon stopped",
        );
        break;
      case "session.resumed":
        this.#note(key, at, "plain", "Resumed");
        break;
      case "daemon.reloaded":
        this.#note(key, at, "plain", "The daemon was restarted");
        break;
      case "session.ended":
        this.#note(key, at, "plain", `The session has ended: ${event.data.reason}`);
        break;
    }
  }

  #add(item: Item): void {
    this.items.push(item);
  }

  #addText(key: string, at: string, text: string): void {
    if (this.#text === undefined) {
      this.#text = { kind: "text", key, at, revision: 0, text: "" };
      this.#add(this.#text);
    }
    this.#text.text += text;
    this.#text.revision++;
  }

  /** What the model said before it was asked again is void. */
  #takeBackText(): void {
    const at = this.#text === undefined ? -1 : this.items.lastIndexOf(this.#text);
    if (at >= 0) this.items.splice(at, 1);
    this.#text = undefined;
  }

  #addCall(item: ToolItem): void {
    this.#calls.set(item.call_id, item);
    this.#add(item);
  }

  #complete(call_id: string, outcome: ToolOutcome): void {
    const item = this.#calls.get(call_id);
    if (item === undefined) return;
    item.outcome = outcome;
    item.waits = false;
    item.revision++;
    this.#calls.delete(call_id);
    if (item.lane_id !== undefined) this.lane_output.delete(item.lane_id);
  }

  #endTurn(
    key: string,
    at: string,
    { stop_reason, error }: { stop_reason: string; error?: string },
  ): void {
    this.#text = undefined;
    for (const call_id of [...this.#calls.keys()]) {
      this.#complete(call_id, { ok: false, output: "interrupted, no result", truncated: false });
    }
    this.#approvals.clear();
    if (stop_reason === "ok") return;
    const said = stopLabel(stop_reason);
    const tone = stop_reason === "cancelled" ? "plain" : "error";
    this.#note(key, at, tone, error === undefined ? said : `${said}: ${error}`);
  }

  #note(key: string, at: string, tone: NoteItem["tone"], text: string): void {
    this.#add({ kind: "note", key, at, revision: 0, tone, text });
  }

  #addOutput(lane_id: string, text: string): void {
    if (lane_id === MAIN_LANE) return;
    const output = (this.lane_output.get(lane_id) ?? "") + text;
    // Cut seldom: each cut copies.
    const kept = output.length > 2 * LANE_OUTPUT_MAX ? output.slice(-LANE_OUTPUT_MAX) : output;
    this.lane_output.set(lane_id, kept);
    for (const call of this.#calls.values()) if (call.lane_id === lane_id) call.revision++;
  }

  #restore({ items, waiting, shortened }: Kept, at: string): void {
    let count = 0;
    const key = () => `kept-${count++}`;
    if (shortened) this.#note(key(), at, "plain", "Earlier messages are no longer stored");
    for (const item of [...items, ...waiting]) {
      if ("user" in item) {
        this.#add({ kind: "user", key: key(), at, revision: 0, text: item.user });
        continue;
      }
      if ("summary" in item) {
        this.#note(key(), at, "plain", `What was said before, in short: ${item.summary}`);
        continue;
      }
      if ("notice" in item) {
        this.#note(key(), at, "warning", item.notice);
        continue;
      }
      if (!("step" in item)) continue;
      const { text, calls, results } = item.step;
      if (text !== "") this.#add({ kind: "text", key: key(), at, revision: 0, text });
      for (const call of calls) {
        const result = results.find((it) => it.call_id === call.call_id);
        const outcome = result && { ok: result.ok, output: result.output, truncated: false };
        this.#add({ kind: "tool", key: key(), at, revision: 0, ...call, waits: false, outcome });
      }
    }
  }
}
