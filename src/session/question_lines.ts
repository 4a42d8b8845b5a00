/** A question about a call as lines of text, for terminals: what it does, before how it is called. */
import { hasAllChanges } from "../base/edits/changes.ts";
import { exact, exactLine } from "../base/visible.ts";
import { type DiffLine, type DiffRow, type FileDiff, fileDiffs, numbered } from "./diff_rows.ts";
import type { Question } from "./question.ts";
import { risksOf } from "./question_risks.ts";

/** How a line of a question looks. */
export type QuestionTone = "plain" | "dim" | "head" | "added" | "removed" | "warning";

/** One line, with nothing hidden in its text. */
export interface QuestionLine {
  tone: QuestionTone;
  text: string;
  /** Of a line of a difference: its pieces, which `text` consists of, and its file. */
  diff?: DiffLine;
}

/** Deeper values are shown as JSON. */
const DEPTH_MAX = 6;
/** Arguments that a difference shows. */
const CONTENTS = new Set(["path", "paths", "old_text", "new_text", "edits", "content", "patch"]);
/** The argument of a tool that the reason of its question names. */
const TOLD: Readonly<Record<string, string>> = {
  edit_file: "path",
  fetch_url: "url",
  run_command: "command",
  web_search: "query",
  write_file: "path",
};

/**
 * Returns a question in full: what would be done and where, the risk, the difference to the files on
 * disk, and all arguments that those do not show.
 *
 * @param workdir the directory of the session
 */
export function questionLines(question: Question, workdir?: string): QuestionLine[] {
  const { changes = [] } = question;
  const files = fileDiffs(changes, { shown: exact }).map(diffQuestionLines);
  const whole = files.length > 0 && hasAllChanges(changes) && files.every((it) => it.length > 1);
  return [
    line("plain", headOf(question)),
    ...workdir === undefined ? [] : [line("dim", `in ${exactLine(workdir)}`)],
    ...riskLines(question),
    ...files.flat(),
    ...whole || files.length === 0
      ? []
      : [line("warning", "not all of it is shown as a difference; this is the call:")],
    ...argLines(question, whole),
  ];
}

function line(tone: QuestionTone, text: string): QuestionLine {
  return { tone, text };
}

/** The reason, without what stands below it line by line. */
function headOf({ reason, args }: Question): string {
  const { command } = (args ?? {}) as { command?: unknown };
  const several = typeof command === "string" && command.includes("\n");
  const short = several ? reason.replace(command, () => "the lines below") : reason;
  return exactLine(short.replace(` with ${JSON.stringify(args)}`, () => ""));
}

/** What a call may do, where that is known. */
function riskLines(question: Question): QuestionLine[] {
  const { changes = [] } = question;
  const deleted = changes.filter((it) => it.deleted).map(({ path }) => exactLine(path));
  const risks = risksOf(question);
  if (deleted.length > 0) risks.push(`deletes ${deleted.join(", ")}`);
  return risks.map((text) => line("warning", text));
}

// ── differences ────────────────────────────────────────────────────────────────────────────────

/** A file's name, then its changing lines with their numbers. */
function diffQuestionLines({ path, sum, rows, one_sided }: FileDiff): QuestionLine[] {
  const head = line("head", `${exactLine(path)}: ${sum}`);
  if (rows.length === 0) return one_sided ? [head, line("dim", "(empty)")] : [head];
  return [
    head,
    ...numbered(rows).map(({ margin, mark, text, parts }) => ({
      ...line(TONES[mark], `${margin}${mark} ${text}`),
      diff: { margin, mark, text, parts, path },
    })),
  ];
}

const TONES: Record<DiffRow["mark"], QuestionTone> = {
  "+": "added",
  "-": "removed",
  " ": "dim",
  "⋮": "dim",
};

// ── arguments ──────────────────────────────────────────────────────────────────────────────────

/** The arguments that stand nowhere else. @param whole whether the difference shows all changes */
function argLines({ tool, args, reason }: Question, whole: boolean): QuestionLine[] {
  return Object.entries(args ?? {}).flatMap(([name, value]) => {
    if (value === undefined || (whole && CONTENTS.has(name))) return [];
    const is_told = typeof value === "string" && TOLD[tool] === name &&
      !value.includes("\n") && reason.includes(value);
    if (is_told || (tool === "run_command" && HAS_WORDS.has(name))) return [];
    return valueLines(name, value, 0).map((text) => line("plain", text));
  });
}

/** Arguments of a command that its reason and its risks say in words. */
const HAS_WORDS = new Set(["network", "paths", "outside_sandbox"]);

function valueLines(name: string, value: unknown, depth: number): string[] {
  const indent = "  ".repeat(depth);
  const label = `${indent}${exactLine(JSON.stringify(name).slice(1, -1))}:`;
  const inner = Array.isArray(value)
    ? value.map((it, n) => [`${n + 1}`, it] as const)
    : typeof value === "object" && value !== null
    ? Object.entries(value)
    : [];
  if (inner.length > 0 && depth < DEPTH_MAX) {
    return [label, ...inner.flatMap(([key, it]) => valueLines(key, it, depth + 1))];
  }
  const text = exact(isText(value) ? value : JSON.stringify(value));
  if (!text.includes("\n")) return [`${label} ${text}`];
  return [label, ...text.split("\n").map((row) => `${indent}  │ ${row}`)];
}

/** Texts that look like another value of JSON. */
const NOT_TEXT = /^(?:|true|false|null|-?\d[\d.eE+-]*|".*"|\[\]|\{\})$/;

/** Whether a value is a text that cannot be taken for another value. */
function isText(value: unknown): value is string {
  return typeof value === "string" && !NOT_TEXT.test(value);
}
