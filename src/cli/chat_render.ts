/** How a conversation looks on a terminal or in a pipe. */
import { bold, cyan, dim, green, red, yellow } from "@std/fmt/colors";
import { compactedText } from "../protocol/compacted_text.ts";
import { configuredText } from "../protocol/configured_text.ts";
import type { EventParams } from "../client/rpc.ts";
import { callLine } from "../base/call_line.ts";
import { planText } from "../protocol/plan_text.ts";
import { rulesLine } from "../base/rules_line.ts";
import { visible, visibleLine } from "../base/visible.ts";

/** Lines shown of a call's output. */
const OUTPUT_LINES = 6;

/** Styles that do nothing without a terminal or with NO_COLOR. */
export function painter(colour: boolean) {
  const plain = (text: string) => text;
  return colour ? { bold, cyan, dim, green, red, yellow } : {
    bold: plain,
    cyan: plain,
    dim: plain,
    green: plain,
    red: plain,
    yellow: plain,
  };
}

export type Paint = ReturnType<typeof painter>;

/** The lines that tell of an event other than text; empty for one that is not shown. */
export function eventLines(event: EventParams, paint: Paint): string[] {
  const { type, data } = event;
  switch (type) {
    case "session.tool_started":
      return [`${paint.cyan("●")} ${visibleLine(callLine(data.tool, data.args))}`];
    case "session.tool_completed": {
      const mark = data.ok ? paint.green("└") : paint.red("└ failed");
      const lines = visible(data.output.trimEnd()).split("\n");
      const shown = lines.slice(0, OUTPUT_LINES);
      if (lines.length > shown.length) shown.push(`… ${lines.length - shown.length} more lines`);
      return shown.map((line: string, n: number) =>
        n === 0 ? `${mark} ${paint.dim(line)}` : `  ${paint.dim(line)}`
      );
    }
    case "lane.note":
      return [paint.yellow(visible(data.text))];
    case "plan.changed":
      return visible(planText(data.steps)).split("\n").map((line) => paint.cyan(line));
    case "rules.loaded":
      return [paint.dim(visibleLine(rulesLine(data)))];
    case "session.configured":
      return [paint.dim(visibleLine(configuredText(data)))];
    case "session.compacted":
      return [paint.yellow(visible(compactedText(data)))];
    case "session.paused":
      return [paint.yellow(`the session was paused (${data.reason})`)];
    case "session.ended":
      return [paint.yellow(`the session has ended (${data.reason})`)];
    case "turn.completed":
      return data.stop_reason === "ok" ? [] : [
        paint.red(visible(`turn ${data.stop_reason}${data.error ? `: ${data.error}` : ""}`)),
      ];
  }
  return [];
}

/** Whether output to this stream may carry colour. */
export function wantsColour(stream: { isTerminal(): boolean }): boolean {
  return stream.isTerminal() && !Deno.noColor;
}

/** Code units of what came before that a piece may belong to. */
const CONTEXT = 64;

/** Shows the text of a model as it comes: nothing of it is hidden on a terminal, all of it exact else. */
export class ModelText {
  readonly #terminal: boolean;
  #before = "";

  constructor(terminal: boolean) {
    this.#terminal = terminal;
  }

  /** What is written for a piece. */
  take(text: string): string {
    if (!this.#terminal) return text;
    const shown = visible(text, { before: this.#before });
    this.#before = (this.#before + text).slice(-CONTEXT);
    return shown;
  }
}
