import type { EventData, SessionEvent } from "../../protocol/events.ts";
import { exactLine } from "../../base/visible.ts";
import { askedOf } from "../../protocol/person_question.ts";
import { alwaysText, personQuestionText } from "../../session/question.ts";
import type { DiffLine } from "../../session/diff_rows.ts";
import {
  type QuestionLine,
  questionLines,
  type QuestionTone,
} from "../../session/question_lines.ts";
import { stillPending } from "../../session/state_steps.ts";
import { newEntry } from "./entries.ts";
import type { Model } from "./model.ts";
import { type Style, untabbed } from "./text.ts";

/** Characters of a question that the terminal UI can show. */
const QUESTION_MAX = 256 * 1024;

/** Applies one event to the pending questions. */
export function applyToApprovals(model: Model, event: SessionEvent): void {
  if (event.type === "approval.requested") addApproval(model, event.data);
  else setApprovals(model, stillPending(model.approvals, event));
}

/** Adds a pending approval; it takes the keys unless a message is being typed or looked for. */
export function addApproval(
  model: Model,
  request: Pick<
    EventData["approval.requested"],
    | "approval_id"
    | "lane_id"
    | "tool"
    | "args"
    | "reason"
    | "rule"
    | "choices"
    | "changes"
    | "kind"
  >,
): void {
  const { approval_id, lane_id, tool, args, reason, rule, choices, changes } = request;
  if (model.approvals.some((it) => it.approval_id === approval_id)) return;
  const question = { tool, args, reason, rule, ...(choices === undefined ? {} : { choices }) };
  const asked = askedOf(request);
  const lines = asked === undefined
    ? questionLines({ ...question, changes }, model.session.workdir)
    : personQuestionText(asked).split("\n")
      .map((text): QuestionLine => ({ tone: "plain", text }));
  const text = untabbed(lines.map((line) => line.text).join("\n")).normalize();
  const left_out = Math.max(text.length - QUESTION_MAX, 0);
  const shown = text.slice(0, QUESTION_MAX).toWellFormed();
  model.approvals.push({
    approval_id,
    lane_id,
    tool: exactLine(tool),
    question,
    asked,
    chosen: [],
    typed: "",
    about: newEntry(model, "approval", shown, {
      styles: lines.map(({ tone }) => STYLES[tone]),
      diffs: lines.map(({ diff }) => diff && harmless(diff)),
    }),
    left_out,
    always: alwaysText(question),
    read: false,
    armed: false,
    answered: false,
  });
  const writes = model.input.text !== "" || model.search !== undefined;
  if (model.focus !== "transcript" && !writes) model.focus = "approval";
}

/** As the lines of the question are. */
function harmless(diff: DiffLine): DiffLine {
  const shown = (text: string) => untabbed(text).normalize();
  const parts = diff.parts?.map((part) => ({ ...part, text: shown(part.text) }));
  return { ...diff, text: shown(diff.text), parts };
}

const STYLES: Record<QuestionTone, Style> = {
  plain: "plain",
  dim: "dim",
  head: "bold",
  added: "added",
  removed: "removed",
  warning: "warning",
};

/** The line above the first approval. */
export function titleOf({ approvals }: Pick<Model, "approvals">): string {
  const [{ asked, tool }] = approvals;
  const count = approvals.length > 1 ? ` (1 of ${approvals.length})` : "";
  return `${asked === undefined ? `allow ${tool}?` : "the model asks:"}${count}`;
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
