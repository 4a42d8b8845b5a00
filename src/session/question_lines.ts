/** A question about a call as lines of text, for terminals: what it does, before how it is called. */
import { diffLines } from "diff";
import { type FileChange, hasAllChanges, REST_NOT_SHOWN } from "../base/edits/changes.ts";
import { exact, exactLine } from "../base/visible.ts";
import type { Question } from "./question.ts";
import { risksOf } from "./question_risks.ts";

/** How a line of a question looks. */
export type QuestionTone = "plain" | "dim" | "head" | "added" | "removed" | "warning";

/** One line, with nothing hidden in its text. */
export interface QuestionLine {
  tone: QuestionTone;
  text: string;
}

/** How long a difference is looked for, in milliseconds: texts that share little take very long. */
const SEARCH_MS = 500;
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
  const files = [...Map.groupBy(changes, ({ path }) => path)]
    .map(([path, parts]) => fileLines(path, parts));
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
function fileLines(path: string, parts: readonly FileChange[]): QuestionLine[] {
  const rows: Row[] = [];
  /** How many lines the parts before have added. */
  let shift = 0;
  for (const part of parts) {
    if (rows.length > 0) rows.push({ mark: "⋮", text: "" });
    const found = rowsOf(part, shift);
    rows.push(...found);
    shift += count(found, "+") - count(found, "-");
  }
  const digits = rows.reduce((most, { number = "" }) => Math.max(most, `${number}`.length), 0);
  const shown = rows.map(({ mark, text, number = "" }) => {
    const margin = digits === 0 ? "" : `${`${number}`.padStart(digits)} `;
    return line(TONES[mark], `${margin}${mark} ${text}`);
  });
  const [{ before, deleted }] = parts;
  const changed = rows.some(({ mark }) => mark === "+" || mark === "-");
  const head = line("head", `${exactLine(path)}: ${sumOf(rows, parts)}`);
  const is_empty = before === undefined || deleted === true;
  return changed ? [head, ...shown] : is_empty ? [head, line("dim", "(empty)")] : [head];
}

/** One line of a file, or a gap between parts. */
interface Row {
  mark: "+" | "-" | " " | "⋮";
  text: string;
  number?: number;
}

const TONES: Record<Row["mark"], QuestionTone> = {
  "+": "added",
  "-": "removed",
  " ": "plain",
  "⋮": "dim",
};

function rowsOf({ before, after, deleted, line: at }: FileChange, shift: number): Row[] {
  // In a file that goes, no line is looked for.
  const begin = deleted ? undefined : before === undefined ? 1 : at;
  const texts = [before ?? "", after.replace(REST_NOT_SHOWN, "")].map(exact);
  const parts = diffLines(texts[0], texts[1], { timeout: SEARCH_MS }) ?? [
    { removed: true, added: false, value: texts[0] },
    { removed: false, added: true, value: texts[1] },
  ];
  let [was, is] = begin === undefined ? [NaN, NaN] : [begin, begin + shift];
  return parts.flatMap(({ added, removed, value }) => {
    if (value === "") return [];
    return value.replace(/\n$/, "").split("\n").map((text): Row => {
      const number = removed ? was : is;
      if (!added) was++;
      if (!removed) is++;
      const mark = added ? "+" : removed ? "-" : " ";
      return { mark, text, ...Number.isNaN(number) ? {} : { number } };
    });
  });
}

function count(rows: readonly Row[], mark: Row["mark"]): number {
  return rows.filter((row) => row.mark === mark).length;
}

function sumOf(rows: readonly Row[], parts: readonly FileChange[]): string {
  const [added, removed] = [count(rows, "+"), count(rows, "-")];
  if (parts.some(({ deleted }) => deleted)) return "deleted";
  if (parts.every(({ before }) => before === undefined)) return `new file, ${linesText(added)}`;
  return added + removed === 0 ? "only the end of its last line changes" : `+${added} -${removed}`;
}

function linesText(n: number): string {
  return n === 1 ? "1 line" : `${n} lines`;
}

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
