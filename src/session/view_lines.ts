/** Changes of a conversation as lines of text, for clients that only append. */
import { callLine } from "../base/call_line.ts";
import { partsByRuns } from "../base/looks.ts";
import { visible, visibleLine } from "../base/visible.ts";
import { attachmentLine } from "../protocol/attachments.ts";
import { askedOf } from "../protocol/person_question.ts";
import { planText } from "../protocol/plan_text.ts";
import { callDiffs } from "./call_diffs.ts";
import { type FileDiff, numbered, type NumberedRow } from "./diff_rows.ts";
import { DECISIONS } from "./question_text.ts";
import type { Change, Item, NoteItem, ToolOutcome } from "./view.ts";
import { settledText, thoughtText } from "./view_text.ts";

type Tone =
  | "call"
  | "done"
  | "failed"
  | "plain"
  | "plan"
  | "warning"
  | "error"
  | "head"
  | "diff";

export interface ShownLine {
  tone: Tone;
  /** In front of the text, in the tone's colour; the text of a result is dim. */
  mark?: string;
  /** With hidden characters written out. */
  text: string;
  /** Of a command's output: its pieces by their looks (`base/looks.ts`), which `text` consists of. */
  looks?: readonly { text: string; look: number }[];
  /** Of a line of a difference: its pieces, which `text` consists of. */
  diff?: NumberedRow;
}

/** Lines to show of a call's output. */
const PART_LINES = 6;
/** Lines to show of a call's changes to files. */
const EDIT_LINES = 24;
/** Characters to show of a file's line: a line may be the whole file. */
const EDIT_LINE_MAX = 400;

/** Returns the lines for a change; none for the model's text, which comes in pieces. */
export function shownLines(change: Change): ShownLine[] {
  switch (change.type) {
    case "added":
      return addedLines(change.item);
    case "changed":
      return changedLines(change.item);
    case "settled":
      return settledLines(change);
    case "plan":
      return visible(planText(change.steps)).split("\n").map((text) => line("plan", text));
    default:
      return [];
  }
}

function addedLines(item: Item): ShownLine[] {
  switch (item.kind) {
    case "user":
      return (item.attachments ?? []).map((it) => line("plain", visibleLine(attachmentLine(it))));
    case "thought":
      return [line("plain", "thinking …")];
    case "tool": {
      const text = visibleLine(callLine(item.tool, item.args));
      return [{ tone: "call", mark: "●", text }, ...changedLines(item)];
    }
    case "note":
      return [line(toneOf(item), visible(item.text))];
    default:
      return [];
  }
}

function settledLines(
  { item, asked: { decision }, request }: Extract<Change, { type: "settled" }>,
): ShownLine[] {
  if (item.kind === "question") return [line("plain", settledText(item))];
  // The call's result shows the person's answer, or that the call was denied.
  const allowed = decision !== undefined && decision !== "deny" && askedOf(request) === undefined;
  return allowed ? [line("plain", DECISIONS[decision])] : [];
}

function changedLines(item: Item): ShownLine[] {
  switch (item.kind) {
    case "thought": {
      const text = thoughtText(item);
      return text === undefined ? [] : [line("plain", text)];
    }
    case "tool": {
      if (item.outcome === undefined) return [];
      const { ok, output } = item.outcome;
      const edit = ok ? limitedLines(callDiffs(item).flatMap(diffLinesOf)) : [];
      const [first, ...rest] = part(output.trimEnd().split("\n"));
      const looked = lookedLines(item.outcome);
      const head: ShownLine = ok
        ? { tone: "done", mark: "└", text: first, looks: looked?.[0] }
        : { tone: "failed", mark: "└ failed", text: first, looks: looked?.[0] };
      const below = rest.map((text, n): ShownLine => ({
        ...line("plain", `  ${text}`),
        looks: looked?.[n + 1] && [{ text: "  ", look: 0 }, ...looked[n + 1]],
      }));
      return [...edit, head, ...below];
    }
    case "note":
      // The end or the wait of a continued turn was shown before.
      return item.end === undefined && item.parked_until === undefined ? addedLines(item) : [];
    default:
      return [];
  }
}

/** The shown lines of a command's output in their looks, if it has some. */
function lookedLines(
  { output, looks }: ToolOutcome,
): { text: string; look: number }[][] | undefined {
  if (looks === undefined) return undefined;
  const lines: { text: string; look: number }[][] = [[]];
  const shown = output.trimEnd().split("\n").slice(0, PART_LINES).join("\n");
  const inside = looks.findIndex((it, n) => n % 3 === 0 && it >= shown.length);
  for (
    const { text, look } of partsByRuns(shown, looks.slice(0, inside < 0 ? undefined : inside))
  ) {
    for (const [n, piece] of visible(text).split("\n").entries()) {
      if (n > 0) lines.push([]);
      if (piece !== "") lines.at(-1)!.push({ text: piece, look });
    }
  }
  return lines;
}

function diffLinesOf({ path, sum, rows }: FileDiff): ShownLine[] {
  return [
    line("head", `  ${visibleLine(path)}: ${sum}`),
    ...numbered(rows).map((row): ShownLine => {
      const text = clipped(row.text, EDIT_LINE_MAX);
      const diff = { ...row, text, ...text !== row.text && { parts: undefined } };
      return { ...line("diff", `  ${row.margin}${row.mark} ${text}`), diff };
    }),
  ];
}

function limitedLines(lines: readonly ShownLine[]): ShownLine[] {
  const left = lines.length - EDIT_LINES;
  if (left <= 0) return [...lines];
  return [...lines.slice(0, EDIT_LINES), line("plain", `  … ${left} more lines`)];
}

function part(lines: readonly string[]): string[] {
  const shown = visible(lines.slice(0, PART_LINES).join("\n"));
  const left = lines.length - PART_LINES;
  if (lines.length === 0) return [];
  return [...shown.split("\n"), ...left > 0 ? [`… ${left} more lines`] : []];
}

/** Shortens a text, with an ellipsis. */
export function clipped(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text;
}

function toneOf({ end, tone, topic }: NoteItem): Tone {
  if (end !== undefined) return "error";
  return tone === "plain" && (topic === "context" || topic === "undo") ? "warning" : tone;
}

function line(tone: Tone, text: string): ShownLine {
  return { tone, text };
}
