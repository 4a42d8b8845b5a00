/** Describes a subagent's actions to the model that started it, live or from the journal. */
import { visibleLine } from "../base/visible.ts";
import type { EventData, SessionEvent } from "../protocol/events.ts";
import type { Journal } from "../session/journal.ts";
import { UNKNOWN_OUTCOME } from "./calls.ts";
import type { ToolOutcome } from "./tool.ts";

/** The most characters of an answer in the conversation. */
export const ANSWER_MAX = 24 * 1024;
/** The last calls that are named, the characters of each, and those of the last text. */
const CALLS_NAMED = 40;
const CALL_MAX = 160;
const SAID_MAX = 4_000;

interface Act {
  call_id: string;
  line: string;
  ok?: boolean;
}

export class SubagentRecord {
  readonly #acts: Act[] = [];
  #begun = 0;

  started({ call_id, tool, args }: Pick<EventData["subagent.tool_started"], CallKeys>): void {
    this.#begun++;
    this.#acts.push({ call_id, line: actLine(tool, args) });
    if (this.#acts.length <= CALLS_NAMED) return;
    // The model must learn about calls that are still open.
    const oldest = this.#acts.findIndex(({ ok }) => ok !== undefined);
    this.#acts.splice(Math.max(oldest, 0), 1);
  }

  completed(
    { call_id, ok, output }: Pick<
      EventData["subagent.tool_completed"],
      "call_id" | "ok" | "output"
    >,
  ): void {
    const act = this.#acts.findLast((it) => it.call_id === call_id);
    // One that a stop cut off may have had its effect.
    if (act !== undefined && (ok || !output.includes(UNKNOWN_OUTCOME))) act.ok = ok;
  }

  /**
   * Returns the text for a subagent that did not finish.
   *
   * @param why how it ended
   * @param said its last text
   */
  cutOffText(why: string, said = ""): string {
    const lines = [`The subagent did not finish: ${why}. What it did until then was not undone.`];
    if (this.#begun === 0) lines.push("It made no calls.");
    else {
      const left_out = this.#begun - this.#acts.length;
      lines.push(`Its calls${left_out === 0 ? "" : ` (${left_out} earlier ones not shown)`}:`);
      for (const { line, ok } of this.#acts) lines.push(`- ${line}: ${endOf(ok)}`);
    }
    if (said !== "") lines.push(`What it said last: ${said.slice(-SAID_MAX).toWellFormed()}`);
    return lines.join("\n");
  }
}

type CallKeys = "call_id" | "tool" | "args";

function endOf(ok: boolean | undefined): string {
  if (ok === undefined) return "started; it may or may not have taken effect";
  return ok ? "done" : "failed";
}

/** A call on one line. */
export function actLine(tool: string, args: unknown): string {
  const line = visibleLine(`${tool} ${JSON.stringify(args) ?? ""}`);
  return line.length > CALL_MAX ? `${line.slice(0, CALL_MAX).toWellFormed()}…` : line;
}

/** Returns an answer for the calling conversation. @param seq of the record with all of it */
export function answerText(answer: string, seq: number): string {
  if (answer.length <= ANSWER_MAX) return answer;
  const left_out = answer.length - ANSWER_MAX;
  return `${answer.slice(0, ANSWER_MAX).toWellFormed()}\n` +
    `[${left_out} more characters; read_earlier with seq ${seq} reads the whole answer]`;
}

/** What the model is told of a provider's limit, which the text before names. */
const LIMITED = "While this limit holds, another subagent with the same model fails too. " +
  "When it has ended, a new subagent can do the rest.";

/** Returns the result of a call whose subagent has ended. */
export function outcomeOf(
  record: SubagentRecord,
  { stop_reason, message, error }: Pick<
    EventData["subagent.completed"],
    "stop_reason" | "message" | "error"
  >,
  seq: number,
): { ok: boolean; text: string } {
  if (stop_reason === "ok") return { ok: true, text: answerText(message, seq) };
  // Text that the critic stopped is not passed on.
  const said = stop_reason === "critic" ? "" : message;
  const text = record.cutOffText(error ?? `it ended with "${stop_reason}"`, said);
  return { ok: false, text: stop_reason === "rate_limit" ? `${text}\n${LIMITED}` : text };
}

/**
 * Reads how the subagent of an interrupted call ended.
 *
 * @returns the call's result, if it had begun one
 */
// fold-ok: reads back the record that subagent.ts writes
export async function readSubagent(
  journal: Pick<Journal, "read">,
  { from_seq, to_seq, call_id }: { from_seq: number; to_seq: number; call_id: string },
): Promise<ToolOutcome | undefined> {
  let lane_id: string | undefined;
  let record = new SubagentRecord();
  for await (const event of journal.read(from_seq - 1)) {
    if (event.seq > to_seq) break;
    if (event.type === "subagent.started" && event.data.call_id === call_id) {
      lane_id = event.data.lane_id;
      record = new SubagentRecord();
    } else if (lane_id !== undefined && laneOf(event) === lane_id) {
      if (event.type === "subagent.completed" && event.data.stop_reason !== "interrupted") {
        const { ok, text } = outcomeOf(record, event.data, event.seq);
        return { ok, output: text };
      }
      if (event.type === "subagent.tool_started") record.started(event.data);
      if (event.type === "subagent.tool_completed") record.completed(event.data);
    }
  }
  if (lane_id === undefined) return undefined;
  return { ok: false, output: record.cutOffText(STOPPED) };
}

/** Why a subagent ended when its daemon stopped. */
export const STOPPED = "svc was stopped while it ran";

// fold-ok: reads back the record that subagent.ts writes
function laneOf({ type, data }: SessionEvent): string | undefined {
  switch (type) {
    case "subagent.tool_started":
    case "subagent.tool_completed":
    case "subagent.completed":
      return data.lane_id;
  }
}
