/** The questions that wait for an answer: what events make of them. */
import type { EventData, SessionEvent } from "../session/events.ts";
import { stillPending } from "../session/state.ts";
import { newEntry } from "./entries.ts";
import type { Model } from "./model.ts";
import { clean, cleanLine, limited } from "./text.ts";

/** Characters shown of what an approval is about. */
const APPROVAL_MAX = 64 * 1024;

/** Applies one event to the questions that wait. */
export function applyToApprovals(model: Model, event: SessionEvent): void {
  if (event.type === "approval.requested") addApproval(model, event.data);
  else setApprovals(model, stillPending(model.approvals, event));
}

/** Adds an approval that waits; it takes the keys unless a message is being typed. */
export function addApproval(
  model: Model,
  request: Pick<
    EventData["approval.requested"],
    "approval_id" | "lane_id" | "tool" | "args" | "reason" | "rule"
  >,
): void {
  const { approval_id, lane_id, tool, args, reason, rule } = request;
  if (model.approvals.some((it) => it.approval_id === approval_id)) return;
  const about = clean(`${reason}\n${argumentLines(args)}`);
  model.approvals.push({
    approval_id,
    lane_id,
    tool: cleanLine(tool),
    about: newEntry(model, "approval", limited(about, APPROVAL_MAX)),
    rule: cleanLine(rule),
    armed: false,
    answered: false,
  });
  if (model.focus !== "transcript" && model.input.text === "") model.focus = "approval";
}

function setApprovals(model: Model, approvals: Model["approvals"]): void {
  if (approvals === model.approvals) return;
  if (approvals[0] !== model.approvals[0]) {
    if (model.approval_shown) model.scroll = undefined;
    model.approval_shown = false;
  }
  model.approvals = approvals;
  if (model.focus === "approval" && approvals.length === 0) model.focus = "input";
}

/**
 * All arguments of a call, a line each; text of several lines stands as it is below its name, further
 * in than a name can stand.
 */
function argumentLines(args: unknown): string {
  return Object.entries(args ?? {}).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const shown = text.includes("\n") ? `\n${text}`.replaceAll("\n", "\n    ") : ` ${text}`;
    return `${JSON.stringify(name).slice(1, -1)}:${shown}`;
  }).join("\n");
}
