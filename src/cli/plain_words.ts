/** What happens in a conversation in words, a line for each thing: for screen readers and logs. */
import { elapsedText } from "../base/elapsed.ts";
import { exact, exactLine, visible } from "../base/visible.ts";
import type { TurnEnd } from "../protocol/note_text.ts";
import { askedOf, hintOf, type PersonQuestion } from "../protocol/person_question.ts";
import type { PlanStep } from "../protocol/plan_text.ts";
import { stopLabel } from "../protocol/stop_reasons.ts";
import type { NumberedRow } from "../session/diff_rows.ts";
import { alwaysText, choiceText, type Question, RULE_SCOPES } from "../session/question.ts";
import { type QuestionLine, questionLines } from "../session/question_lines.ts";
import type { Change, Item, NoteItem } from "../session/view.ts";
import { type ShownLine, shownLines } from "../session/view_lines.ts";
import { named } from "./own_name.ts";
import type { PrintedQuestion } from "./question_print.ts";

/** Before each line of a thing after its first. */
const INDENT = "  ";

/** Puts a word before a text of any number of lines; the others are indented. */
export function told(word: string, text: string): string[] {
  const [first, ...rest] = text.split("\n");
  return [`${word}: ${first}`, ...rest.map((it) => `${INDENT}${it}`)];
}

/** Returns the lines for a change other than the model's text; empty if it is not told. */
export function wordLines(change: Change): string[] {
  switch (change.type) {
    case "plan":
      return planWords(change.steps);
    case "added":
    case "changed":
      return itemWords(change.item, shownLines(change));
    case "settled":
      return shownLines(change).map(({ text }) => sentence(text));
    default:
      return [];
  }
}

/** Returns the line for the end of a turn. @param ms how long it took, if that is known */
export function endWords({ stop_reason }: TurnEnd, ms: number | undefined): string {
  const ok = stop_reason === "ok";
  if (ms === undefined) return ok ? "Finished." : "Ended.";
  return `${ok ? "Finished in" : "Ended after"} ${elapsedText(ms)}.`;
}

function itemWords(item: Item, lines: readonly ShownLine[]): string[] {
  switch (item.kind) {
    case "user":
      return lines.map(({ text }) => `Attached: ${text}`);
    case "thought":
      return lines.map(({ text }) => sentence(text.replace(/ …$/, "")));
    case "tool":
      return lines.flatMap(callWords);
    case "note":
      return lines.length === 0 ? [] : noteWords(item);
    default:
      return [];
  }
}

const NOTES: Record<NoteItem["tone"], string> = {
  plain: "Note",
  warning: "Warning",
  error: "Error",
};

function noteWords({ text, tone, end, may_continue }: NoteItem): string[] {
  if (end === undefined) return told(NOTES[tone], named(visible(text)));
  const { stop_reason, error } = end;
  const why = error === undefined ? "" : `: ${named(visible(error))}`;
  const more = may_continue ? "; /continue goes on with it" : "";
  return told("Stopped", `${stopLabel(stop_reason)}${why}${more}`);
}

function callWords({ tone, text, diff }: ShownLine): string[] {
  switch (tone) {
    case "call":
      return [`Tool: ${text}`];
    case "done":
      return [text === "" ? "Done." : `Result: ${text}`];
    case "failed":
      return [`Failed: ${text}`];
    case "head":
      return [sumWords(text.trim())];
    case "diff":
      return [rowWords(diff!)];
    default:
      return [text.replace(/^(\s*)… (\d+ more lines)$/, "$1$2 are not shown")];
  }
}

/** `a.txt: +2 −1` in words. */
function sumWords(text: string): string {
  return text.replace(/: \+(\d+) −(\d+)$/, ": $1 added, $2 removed");
}

const ROWS: Record<NumberedRow["mark"], string> = {
  "+": "added",
  "-": "removed",
  " ": "line",
  "⋮": "further on",
};

function rowWords({ margin, mark, text }: NumberedRow): string {
  if (mark === "⋮") return `${INDENT}${ROWS[mark]}:`;
  return `${INDENT}${[ROWS[mark], margin.trim()].filter(Boolean).join(" ")}: ${text}`;
}

const STEPS: Record<PlanStep["state"], string> = {
  pending: "to do",
  doing: "now",
  done: "done",
};

function planWords(steps: readonly PlanStep[]): string[] {
  if (steps.length === 0) return ["The plan is empty."];
  return steps.map(({ step, state }, n) =>
    `Plan, step ${n + 1} of ${steps.length}, ${STEPS[state]}: ` +
    visible(step.replace(/\s+/g, " "))
  );
}

/** With a capital letter and a full stop. */
export function sentence(text: string): string {
  const whole = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?:]$/.test(whole) ? whole : `${whole}.`;
}

// ── questions ──────────────────────────────────────────────────────────────────────────────────

/** A question that waits, and where it stands among all that do. */
export interface WaitingQuestion {
  question: PrintedQuestion;
  /** From 1. */
  n: number;
  count: number;
}

/**
 * Returns a question in full, with its answers by their numbers. What comes from a model is
 * indented: no line of it can be taken for an answer.
 */
export function questionWords({ question, n, count }: WaitingQuestion, workdir: string): string[] {
  const title = `Question ${n} of ${count}`;
  const asked = askedOf(question);
  if (asked !== undefined) return askedWords(asked, title);
  return [
    `${title}: allow ${exactLine(question.tool)}?`,
    ...questionLines(question, workdir).map(questionLineWords),
    ...answerWords(question),
  ];
}

/** Asks for the answer. */
export function answerPrompt(question: PrintedQuestion): string {
  const asked = askedOf(question);
  return `Your answer, ${asked === undefined ? "1, 2 or 3, or n, TEXT" : hintOf(asked)}: `;
}

function askedWords({ question, options }: PersonQuestion, title: string): string[] {
  return [
    ...told(title, exact(question)),
    ...options.map(({ label, description }, n) => {
      const about = description === undefined ? "" : ` (${exactLine(description)})`;
      return `Answer ${n + 1}: ${exactLine(label)}${about}`;
    }),
  ];
}

function questionLineWords({ tone, text, diff }: QuestionLine): string {
  if (diff !== undefined) return rowWords(diff);
  if (tone === "warning") return `${INDENT}Warning: ${text}`;
  if (tone === "head") return `${INDENT}${sumWords(text)}`;
  return `${INDENT}${text.replace(/^(\s+)│ /, "$1")}`;
}

/** Where a rule holds, by the letters behind its number. */
const SCOPES = RULE_SCOPES.map(({ key, words }) => `${key} for ${words}`).join(", ");

function answerWords(question: Question): string[] {
  const { choices = [] } = question;
  const letters = RULE_SCOPES.map(({ key }) => key);
  return [
    "Answer 1 or y: allow",
    `Answer 2 or a: always allow ${alwaysText(question)}`,
    "Answer 3 or n: deny. n, TEXT says what to do instead",
    ...choices.length === 0 ? [] : [`Or a rule, with ${SCOPES}:`],
    ...choices.map((choice, n) =>
      `Answer ${letters.map((it) => `${n + 1}${it}`).join(", ")}: always ` +
      choiceText(question, choice)
    ),
  ];
}
