/** The panels above the message, the plan and what runs beside the turn: as rows, or in one line. */
import { clockText } from "../../protocol/clock_text.ts";
import { MAIN_LANE } from "../../protocol/events.ts";
import type { SessionEvent } from "../../protocol/events.ts";
import type { BackgroundItem } from "../../session/session_state.ts";
import { laneEnded } from "../../session/state_steps.ts";
import type { CommandView, LaneView, Model } from "./model.ts";
import { cleanLine, cut, type Line, line, type Span, type Style, width } from "./text.ts";
import { secondsText } from "./turn.ts";

/** Applies one event to the commands in the background; one that has ended is a note. */
// fold-ok: the panel of what runs follows commands one by one
export function applyToCommands(model: Model, event: SessionEvent): void {
  switch (event.type) {
    case "background.started": {
      const { command_id, command } = event.data;
      const since = Date.parse(event.at);
      model.commands_run.push({ command_id, command: cleanLine(command), since });
      break;
    }
    case "background.ended":
      dropCommands(model, ({ command_id }) => command_id !== event.data.command_id);
      break;
    case "session.ended":
      dropCommands(model, () => false);
      break;
  }
}

/** Takes the commands that run, also those that started before the known events. */
export function setCommands(model: Model, commands: readonly BackgroundItem[]): void {
  model.commands_run = commands.map(({ command_id, command, started_at }) => ({
    command_id,
    command: cleanLine(command),
    since: Date.parse(started_at),
  }));
}

function dropCommands(model: Model, kept: (command: CommandView) => boolean): void {
  model.commands_run = model.commands_run.filter(kept);
  if (model.focus === "lanes" && workIds(model).length === 0) model.focus = "input";
  if (!workIds(model).includes(model.lane_at)) model.lane_at = MAIN_LANE;
}

/** Ids of what the panel of work lists: lanes, if there is more than one, then commands. */
export function workIds({ lanes, commands_run }: Model): string[] {
  const shown = lanes.length > 1 ? lanes.map(({ lane_id }) => lane_id) : [];
  return [...shown, ...commands_run.map(({ command_id }) => command_id)];
}

/** Rows that the panel of work would have. */
export function workRows(model: Model): number {
  const { length } = workIds(model);
  return isFolded(model) ? Math.min(length, 1) : length;
}

/** Rows that the plan would have. */
export function planRows({ plan, folded }: Model): number {
  return folded ? Math.min(plan.length, 1) : plan.length;
}

/** Whether the panel of work is one line: not while it has the keys. */
function isFolded({ folded, focus }: Model): boolean {
  return folded && focus !== "lanes";
}

/** The plan from its first open step on, as far as it fits. */
export function planLines(model: Model, height: number): Line[] {
  const { plan } = model;
  const open = Math.max(plan.findIndex((text) => !text.startsWith("[x]")), 0);
  if (height > 0 && model.folded) {
    const now = plan.findIndex((text) => text.startsWith("[>]"));
    const at = now < 0 ? open : now;
    return [[
      { text: `plan ${at + 1} of ${plan.length}: `, style: "dim" },
      { text: plan[at].replace(/^\[.\] /, ""), style: "bold" },
    ]];
  }
  const first = Math.min(open, plan.length - height);
  return plan.slice(first, first + height).map((text) =>
    line(text, text.startsWith("[>]") ? "bold" : "dim")
  );
}

const MARKS: Record<LaneView["status"], [string, Style]> = {
  pending: ["○", "dim"],
  running: ["●", "success"],
  blocked: ["◌", "warning"],
  done: ["✓", "dim"],
  errored: ["✗", "error"],
  cancelled: ["✗", "dim"],
};

/** What runs beside the turn, a row each, or all in one. */
export function workLines(model: Model, height: number, cols: number): Line[] {
  if (height === 0) return [];
  if (isFolded(model)) return [foldedWork(model)];
  const ids = workIds(model);
  const first = Math.min(Math.max(ids.indexOf(model.lane_at) - height + 1, 0), ids.length - height);
  return ids.slice(first, first + height).map((id, index) => {
    const here = model.focus === "lanes" && id === model.lane_at;
    const before: Span = {
      text: `${here ? "▸" : " "}${first + index + 1} `,
      style: here ? "bold" : "dim",
    };
    const lane = model.lanes.find(({ lane_id }) => lane_id === id);
    if (lane !== undefined) return [before, ...laneSpans(model, lane, { here, cols })];
    const command = model.commands_run.find(({ command_id }) => command_id === id)!;
    const since = `  ${sinceText(model, command.since)} in the background`;
    return [
      before,
      { text: "● ", style: "success" },
      { text: labelText(command.command, since, cols), style: here ? "bold" : "plain" },
      { text: since, style: "dim" },
    ];
  });
}

/** A label, cut where what comes after it would have less than a part of the row. */
function labelText(label: string, after: string, cols: number): string {
  const room = cols - MARGIN_COLS - Math.min(width(after), Math.floor(cols * AFTER_PART));
  return cut(label, Math.max(room, LABEL_MIN));
}

/** Columns before a label. */
const MARGIN_COLS = 5;
/** The part of a row that may stand behind a label. */
const AFTER_PART = 0.4;
const LABEL_MIN = 8;

function laneSpans(
  model: Model,
  lane: LaneView,
  { here, cols }: { here: boolean; cols: number },
): Span[] {
  const [mark, style] = MARKS[lane.status];
  const said = laneEnded(lane) ? lane.status : lastLine(lane);
  const took = lane.kind === "main" ? "" : laneTime(model, lane);
  const after = [took, said].filter(Boolean).map((it) => `  ${it}`).join("");
  const label = labelText(`${lane.label}${lane.pinned ? " (pinned)" : ""}`, after, cols);
  return [
    { text: `${mark} `, style },
    { text: label, style: here ? "bold" : "plain" },
    { text: after, style: "dim" },
  ];
}

function lastLine({ output }: LaneView): string {
  return output.lines.findLast((it) => it !== "") ?? "";
}

/** How long a lane has run, or since when it runs. */
function laneTime(model: Model, { started_at, ended_at }: LaneView): string {
  if (Number.isNaN(started_at)) return "";
  return ended_at === undefined
    ? sinceText(model, started_at)
    : secondsText(Math.max(ended_at - started_at, 0));
}

/** Seconds while the screen moves on; at rest, the time of the start, which stays true. */
function sinceText({ session, now }: Model, started_at: number): string {
  if (session.turn) return secondsText(Math.max(now - started_at, 0));
  return `since ${clockText(new Date(started_at), new Date(now))}`;
}

/** `2 agents, 1 command  12 s  the last line`: of what runs, the newest. */
function foldedWork(model: Model): Line {
  const running = model.lanes.filter((lane) => lane.kind !== "main" && !laneEnded(lane));
  const ended = workIds(model).length - running.length - model.commands_run.length - 1;
  const counts = [
    countText(running.filter(({ kind }) => kind !== "tool").length, "agent", "agents"),
    countText(running.filter(({ kind }) => kind === "tool").length, "command", "commands"),
    countText(model.commands_run.length, "in the background", "in the background"),
    ...running.length === 0 ? [countText(Math.max(ended, 0), "ended", "ended")] : [],
  ].filter(Boolean).join(", ");
  const newest = running.at(-1);
  const more = newest === undefined ? [] : [laneTime(model, newest), lastLine(newest)];
  return [
    { text: running.length > 0 ? "● " : "○ ", style: running.length > 0 ? "success" : "dim" },
    { text: counts, style: "plain" },
    { text: more.filter(Boolean).map((it) => `  ${it}`).join(""), style: "dim" },
  ];
}

function countText(count: number, one: string, many: string): string {
  return count === 0 ? "" : `${count} ${count === 1 ? one : many}`;
}
