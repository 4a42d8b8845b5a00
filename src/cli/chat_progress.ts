/** What has happened in a run of `svc chat -p`. */
import { rulesLine } from "../base/rules_line.ts";
import type { EventParams } from "../client/rpc.ts";
import { type EventData, MAIN_LANE, MODEL_RETRY, type TurnUsage } from "../protocol/events.ts";
import { parkedText } from "../protocol/note_text.ts";
import type { Line } from "./chat_lines.ts";

/** The `reason_code` of the note that the turn waits for the end of a limit. */
export const PARKED = "turn_parked";
/** The `reason_code` of the note about unreadable rules. */
export const RULES_LEFT_OUT = "rules_left_out";

export class Progress {
  steps = 0;
  tool_calls = 0;
  denied = 0;
  /** By turn: one that went on after its end has all of its usage in the last. */
  readonly #usages = new Map<string, TurnUsage>();
  /** The turn's text, where its last model call ended, and where the last tool call began. */
  #text = "";
  #step_start = 0;
  #answer_start = 0;
  /** Printed text of an answer that is repeated, as far as it has not come again. */
  #said = "";

  readonly #holds: boolean;
  /** Text of an answer that may still be taken back. */
  #held = "";

  /**
   * @param holds whether text is printed only once its answer is final: a pipe takes nothing back
   */
  constructor({ holds = false }: { holds?: boolean } = {}) {
    this.#holds = holds;
  }

  get usage(): TurnUsage {
    const sum = { tokens_in: 0, tokens_out: 0, tokens_cached: 0, usd: 0 };
    for (const usage of this.#usages.values()) {
      for (const name of ["tokens_in", "tokens_out", "tokens_cached", "usd"] as const) {
        sum[name] += usage[name];
      }
    }
    return sum;
  }

  /** Returns the held text of an answer that never ended. */
  rest(): Line | undefined {
    const text = this.#held;
    this.#held = "";
    return text === "" ? undefined : { type: "text", text };
  }

  /** The model's text after its last tool call. */
  get answer(): string {
    return this.#text.slice(this.#answer_start).trimStart();
  }

  /** Takes an event. @returns the line for it, if it has one. */
  // fold-ok: what the line of progress names; chat_view.ts says what is shown
  take(event: EventParams): Line | undefined {
    const { type, data } = event;
    switch (type) {
      case "turn.started":
        this.#text = "";
        this.#step_start = this.#answer_start = 0;
        return undefined;
      case "turn.continued":
        if (this.#holds) this.#held = "";
        else this.#said = this.#text.slice(this.#step_start);
        this.#text = this.#text.slice(0, this.#step_start);
        return { type: "note", text: "the turn goes on", reason_code: "turn_continued" };
      case "turn.parked":
        return {
          type: "note",
          text: parkedText({ data: data as EventData["turn.parked"], at: event.at }),
          reason_code: PARKED,
        };
      case "session.delta": {
        this.#text += data.text;
        if (this.#holds) {
          this.#held += data.text;
          return undefined;
        }
        const text = this.#news(data.text);
        return text === "" ? undefined : { type: "text", text };
      }
      case "cost.tick":
        if ((data.lane_id ?? MAIN_LANE) !== MAIN_LANE) return undefined;
        this.#said = "";
        this.steps++;
        this.#step_start = this.#text.length;
        return this.rest();
      case "session.tool_started": {
        this.tool_calls++;
        this.#answer_start = this.#text.length;
        const { call_id, tool, args } = data;
        return { type: "tool_started", call_id, tool, args };
      }
      case "session.tool_completed": {
        const { call_id, tool, ok, output, truncated, duration_ms, exit_code } = data;
        const ended = { call_id, tool, ok, output, truncated, duration_ms };
        return {
          type: "tool_completed",
          ...ended,
          ...(exit_code === undefined ? {} : { exit_code }),
        };
      }
      case "rules.loaded": {
        const { skipped } = data;
        if (skipped.length === 0) return undefined;
        const text = rulesLine({ files: [], removed: [], skipped });
        return { type: "note", text, reason_code: RULES_LEFT_OUT };
      }
      case "lane.note": {
        const { lane_id, text, reason_code } = data;
        if (lane_id !== MAIN_LANE) return undefined;
        // Drop the text of an answer that failed.
        if (reason_code === MODEL_RETRY) {
          this.#text = this.#text.slice(0, this.#step_start);
          this.#held = "";
        }
        return { type: "note", text, reason_code };
      }
      case "turn.completed":
        this.#usages.set(data.turn_id, data.usage);
    }
    return undefined;
  }

  /** Returns what a piece adds to the text already printed. */
  #news(text: string): string {
    const said = this.#said;
    this.#said = "";
    if (said.startsWith(text)) {
      this.#said = said.slice(text.length);
      return "";
    }
    if (text.startsWith(said)) return text.slice(said.length);
    // The new answer differs.
    return `\n${this.#text.slice(this.#step_start)}`;
  }
}
