/** Draws the model: lines for every row of the screen, none wider than it. */
import { choiceText, RULE_SCOPES } from "../../session/question.ts";
import { hintOf, SKIP } from "../../protocol/person_question.ts";
import { laneEnded } from "../../session/state_steps.ts";
import { titleOf } from "./approvals.ts";
import { APPROVAL_FRAME, arrange, type Arrangement, type Size } from "./arrange.ts";
import { HELP } from "./help.ts";
import type { Layouts } from "./layout.ts";
import { type LaneView, type Model, shownLane } from "./model.ts";
import { type Window, windowOf } from "./scroll.ts";
import { statusLine } from "./status.ts";
import { cutLine, type Line, line, type Style } from "./text.ts";

export interface Screen {
  /** As many as the screen has rows. */
  lines: Line[];
  /** From 0; absent while the message does not take the keys. */
  cursor?: { row: number; col: number };
}

/** Whether the whole question is on the screen, or its end in the full view. */
export function showsQuestion(model: Model, size: Size, layouts: Layouts): boolean {
  const [approval] = model.approvals;
  if (approval === undefined || model.help) return false;
  const { approval: height, view } = arrange(model, size, layouts);
  if (model.approval_shown) return view.height > 0 && windowOf(model, view).at_end;
  return layouts.rows(approval.about, view).length <= height - APPROVAL_FRAME;
}

/** Draws the whole screen. */
export function render(model: Model, size: Size, layouts: Layouts): Screen {
  const parts = arrange(model, size, layouts);
  const window = model.help ? helpWindow(model, parts) : windowOf(model, parts.view);
  const blank = Math.max(parts.view.height - window.rows.length, 0);
  const upper = [
    ...titleLines(model, parts),
    ...window.rows,
    ...Array<Line>(blank).fill([]),
    ...ruleLines(window, parts),
    ...planLines(model, parts),
    ...approvalLines(model, parts),
    ...laneLines(model, parts),
  ];
  const { input } = parts;
  const lines = [...upper, ...input.rows, ...parts.status > 0 ? [statusLine(model, size.cols)] : []]
    .slice(-size.rows)
    .map((it) => cutLine(it, size.cols));
  if (model.focus !== "input") return { lines };
  return {
    lines,
    cursor: { row: Math.min(upper.length + input.row, size.rows - 1), col: input.col },
  };
}

function helpWindow({ commands }: Model, { view }: Arrangement): Window {
  const rows = [...HELP, ...commands].slice(0, view.height).map((text) => line(text));
  return { rows, entries: [], at_end: true };
}

function titleLines(model: Model, parts: Arrangement): Line[] {
  if (parts.title === 0) return [];
  const lane = shownLane(model);
  const text = model.help
    ? "help · press any key to close"
    : model.approval_shown
    ? "full request · v closes it"
    : `Esc goes back · lane ${lane?.status} · ${lane?.label}`;
  return [heading(text, parts.size.cols)];
}

function ruleLines(window: Window, { rule, size }: Arrangement): Line[] {
  if (rule === 0) return [];
  return [heading(window.at_end ? "" : "more below · End", size.cols)];
}

function heading(text: string, cols: number): Line {
  const label = text === "" ? "" : ` ${text} `;
  return line(`──${label}${"─".repeat(Math.max(cols - 2 - label.length, 0))}`, "dim");
}

/** The plan from its first open step on, as far as it fits. */
function planLines({ plan }: Model, { plan: height }: Arrangement): Line[] {
  const open = plan.findIndex((text) => !text.startsWith("[x]"));
  const first = Math.min(Math.max(open, 0), plan.length - height);
  return plan.slice(first, first + height).map((text) =>
    line(text, text.startsWith("[>]") ? "bold" : "dim")
  );
}

function approvalLines(model: Model, { approval: height, view }: Arrangement): Line[] {
  const [approval] = model.approvals;
  if (approval === undefined || height === 0) return [];
  const count = model.approvals.length > 1 ? ` (1 of ${model.approvals.length})` : "";
  const about = view.layouts.rows(approval.about, view);
  const room = height - APPROVAL_FRAME;
  // If there is no room for both, the text matters more than the question.
  const asked = room > 0 ? `${titleOf(approval)}${count}` : approval.about.lines[0];
  const question = line(`? ${asked}`, "yellow");
  if (room < 0) return [question];
  const shown = about.length <= room ? about : [
    ...about.slice(0, Math.max(room - 1, 0)),
    line(`… ${about.length - Math.max(room - 1, 0)} more lines: v shows them`, "yellow"),
  ].slice(-room);
  return [question, ...room === 0 ? [] : shown, answersLine(model)];
}

function answersLine(model: Model): Line {
  const [approval] = model.approvals;
  const { asked, chosen, rule_chosen, picked, armed, answered, read, left_out, always, question } =
    approval;
  if (answered) return line("  answered", "dim");
  if (asked?.free_text && model.input_answers !== undefined) {
    return line("  Enter answers with what you type", "bold");
  }
  if (model.focus !== "approval") return line("  Tab to answer", "dim");
  if (picked !== undefined) {
    return [
      { text: `  ${picked.words}`, style: "bold" },
      { text: "  Enter confirms, Esc takes it back", style: "plain" },
    ];
  }
  const style: Style = armed ? "bold" : "dim";
  const deny: Line = [{ text: armed ? "  n" : "  …", style }, { text: " deny  ", style: "plain" }];
  if (left_out > 0 && asked === undefined) {
    return [...deny, { text: `${left_out} more characters: open the web app`, style }];
  }
  if (!read && asked === undefined) {
    const how = model.approval_shown ? "PgDn to its end" : "v";
    return [...deny, { text: how, style }, { text: " shows all of it first", style: "plain" }];
  }
  if (asked !== undefined) {
    const numbers = chosen.map((at) => at + 1).join(", ");
    const how = read ? hintOf(asked) : `v shows all of it first, or ${SKIP} to skip`;
    return line(
      armed ? `  ${numbers === "" ? how : `${numbers} chosen; Enter answers`}` : "  …",
      style,
    );
  }
  if (rule_chosen !== undefined) {
    const where = RULE_SCOPES.flatMap(({ key, words }): Line => [
      { text: `  ${key}`, style },
      { text: ` ${words}`, style: "plain" },
    ]);
    return [...where, { text: `  always ${choiceText(question, rule_chosen)}`, style: "plain" }];
  }
  const count = question.choices?.length ?? 0;
  const more: Line = count === 0
    ? []
    : [{ text: `  1-${count}`, style }, { text: " other rules", style: "plain" }];
  return [
    { text: armed ? "  y" : "  …", style },
    { text: " allow  ", style: "plain" },
    { text: "n", style },
    { text: " deny  ", style: "plain" },
    { text: "n, TEXT", style },
    { text: " deny and say  ", style: "plain" },
    { text: "a", style },
    { text: ` always allow ${always}`, style: "plain" },
    ...more,
  ];
}

const MARKS: Record<LaneView["status"], [string, Style]> = {
  pending: ["○", "dim"],
  running: ["●", "green"],
  blocked: ["◌", "yellow"],
  done: ["✓", "dim"],
  errored: ["✗", "red"],
  cancelled: ["✗", "dim"],
};

function laneLines(model: Model, { lanes: height }: Arrangement): Line[] {
  const at = model.lanes.findIndex(({ lane_id }) => lane_id === model.lane_at);
  const first = Math.min(Math.max(at - height + 1, 0), model.lanes.length - height);
  return model.lanes.slice(first, first + height).map((lane, index) => {
    const here = model.focus === "lanes" && lane.lane_id === model.lane_at;
    const [mark, style] = MARKS[lane.status];
    const said = laneEnded(lane) ? lane.status : lane.output.lines.findLast((it) => it !== "");
    return [
      { text: `${here ? "▸" : " "}${first + index + 1} `, style: here ? "bold" : "dim" },
      { text: `${mark} `, style },
      { text: `${lane.label}${lane.pinned ? " (pinned)" : ""}`, style: here ? "bold" : "plain" },
      { text: said ? `  ${said}` : "", style: "dim" },
    ];
  });
}
