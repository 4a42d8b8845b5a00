/** The screen as an outline of ARIA regions, for those who cannot see it. */
import type * as z from "zod";
import { exactLine } from "../../base/visible.ts";
import { SKIP } from "../../protocol/person_question.ts";
import { titleOf } from "./approvals.ts";
import { arrange, type Size } from "./arrange.ts";
import { withLabels } from "./chips.ts";
import { helpText } from "./help.ts";
import type { Layouts } from "./layout.ts";
import { type Entry, type Model, shownEntries, shownLane } from "./model.ts";
import { workIds } from "./panels.ts";
import type { regionSchema } from "./schemas.ts";
import { windowOf } from "./scroll.ts";
import { activity } from "./status.ts";

export type Region = z.output<ReturnType<typeof regionSchema>>;

const SPEAKERS: Record<Entry["kind"], string> = {
  user: "you",
  assistant: "assistant",
  thought: "reasoning",
  call: "call",
  note: "note",
  problem: "problem",
  lane: "output",
  approval: "details",
};
/** Maximum characters of an entry's text. */
const TEXT_MAX = 16 * 1024;

/** Describes what is on the screen, from top to bottom. */
export function outline(model: Model, size: Size, layouts: Layouts): Region[] {
  const parts = arrange(model, size, layouts);
  const regions = [
    model.help
      ? { role: "dialog", name: "help", text: helpText(model).join("\n") }
      : transcriptRegion(model, windowOf(model, parts.view).entries),
  ];
  if (model.plan.length > 0) {
    const children = model.plan.map((name) => ({ role: "listitem", name }));
    regions.push({ role: "list", name: "plan", children });
  }
  if (model.approvals.length > 0) regions.push(approvalRegion(model));
  if (workIds(model).length > 0) regions.push(lanesRegion(model));
  regions.push(focusable(model, "input", {
    role: "textbox",
    name: "message",
    text: withLabels(model.input, model.input.text),
  }));
  regions.push({ role: "status", name: "status", text: model.notice ?? activity(model).text });
  return regions;
}

function focusable(model: Model, focus: Model["focus"], region: Region): Region {
  return model.focus === focus ? { ...region, focused: true } : region;
}

function transcriptRegion(model: Model, shown: readonly number[]): Region {
  const lane = shownLane(model);
  const children = shownEntries(model).filter(({ id }) => shown.includes(id)).map(entryRegion);
  const name = lane === undefined ? "transcript" : `lane ${lane.label}`;
  return focusable(model, "transcript", { role: "log", name, children });
}

function entryRegion(entry: Entry): Region {
  const outcome = entry.ok === undefined ? "running" : entry.ok ? "done" : "failed";
  return {
    role: "article",
    name: entry.kind === "call" ? `call, ${outcome}` : SPEAKERS[entry.kind],
    text: entry.lines.join("\n").slice(-TEXT_MAX).toWellFormed(),
  };
}

function approvalRegion(model: Model): Region {
  const [approval] = model.approvals;
  const { asked, about, armed, read, left_out } = approval;
  const allow = read && left_out === 0 ? [["y", "allow"], ["a", "always allow"]] : [];
  const options = asked?.options.map(({ label }, n) => [`${n + 1}`, exactLine(label)]) ?? [];
  const keys = asked === undefined
    ? [...allow, ["n", "deny"], ["v", "show in full"]]
    : [...read ? options : [["v", "show in full"]], [SKIP, "skip"]];
  return focusable(model, "approval", {
    role: "alertdialog",
    name: titleOf(model),
    text: about.lines.join("\n"),
    children: armed ? keys.map(([text, name]) => ({ role: "button", name, text })) : [],
  });
}

function lanesRegion(model: Model): Region {
  return focusable(model, "lanes", {
    role: "list",
    name: "lanes",
    children: workIds(model).map((id) => {
      const lane = model.lanes.find(({ lane_id }) => lane_id === id);
      const command = model.commands_run.find(({ command_id }) => command_id === id);
      return {
        role: "listitem",
        name: lane?.label ?? command?.command ?? id,
        text: lane?.status ?? "in the background",
        ...(id === model.lane_at ? { focused: model.focus === "lanes" } : {}),
      };
    }),
  });
}
