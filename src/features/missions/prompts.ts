/**
 * The prompts of a mission's sessions. All lines but the spec's own begin with `#`: a heading to a
 * model, and a comment to `builtin/toolbelt`, which therefore never runs a check's output.
 */
import type { FailureClass } from "./mission.ts";
import type { Check, CriterionSpec, MissionSpec, TaskSpec } from "./spec.ts";

/** Characters of a check's output in a prompt; its end says what went wrong. */
const OUTPUT_MAX = 8 * 1024;

/** The first message to a task's session. */
export function taskPrompt(mission: MissionSpec, task: TaskSpec): string {
  const files = task.files.length > 0 ? [`Files: ${task.files.join(", ")}`] : [];
  return [
    framed(
      `Task ${task.id} of the mission "${mission.name}". Work in the working directory.`,
      "Changes are committed when you are done; do not commit, push or change branches.",
      ...files,
    ),
    task.description,
  ].join("\n");
}

/** Asks to resolve a merge that stopped. */
export function conflictPrompt(files: readonly string[]): string {
  return framed(
    "Changes from other tasks have been merged, and these files conflict:",
    ...files.map((file) => `  ${file}`),
    "Edit them so that the intent of both sides is kept and no conflict marker remains.",
    "The merge is committed when you are done; do not commit it yourself.",
  );
}

/** Asks to repair what a check found. */
export function repairPrompt(criterion: CriterionSpec, check: Check, output: string): string {
  return failing(
    `The acceptance criterion ${criterion.id} fails: ${criterion.description}`,
    check,
    "Fix the code so that the criterion is met. Do not change the check, and do not make it pass without fixing the cause.",
    output,
  );
}

/** Asks to provide what a check needs to run. */
export function environmentPrompt(criterion: CriterionSpec, check: Check, output: string): string {
  return failing(
    `The acceptance criterion ${criterion.id} cannot be checked here: ${criterion.description}`,
    check,
    "Something is missing in its environment. Provide it within the working directory.",
    output,
  );
}

/** Asks to change the code so that a criterion can be checked. */
export function refactorPrompt(criterion: CriterionSpec, check: Check, output: string): string {
  return failing(
    `The acceptance criterion ${criterion.id} cannot be checked with the current code: ` +
      criterion.description,
    check,
    "Change the structure of the code, not its behaviour, so that the check can run.",
    output,
  );
}

/** Asks for another check of the same thing; {@linkcode readCheck} reads the answer. */
export function rewritePrompt(criterion: CriterionSpec, check: Check, output: string): string {
  return framed(
    `The check of the acceptance criterion ${criterion.id} is itself wrong: ${criterion.description}`,
    checkLine(check),
    "Its output:",
    quoted(output),
    "Change no file. Answer only with a JSON object that has one of these members and checks",
    "the same thing at least as strictly:",
    '  {"command": "…"}',
    '  {"file_exists": "path"}',
    '  {"content_match": {"file": "path", "pattern": "regular expression"}}',
  );
}

/** Asks for the cause of a failure; {@linkcode readClass} reads the answer. */
export function classifyPrompt(criterion: CriterionSpec, check: Check, output: string): string {
  return framed(
    `The acceptance criterion ${criterion.id} fails: ${criterion.description}`,
    checkLine(check),
    "Its output:",
    quoted(output),
    "Change no file. Answer with one word that says where the fault is:",
    "  code_bug     the code does not do what the criterion asks for",
    "  ac_bug       the check is wrong; the code may be right",
    "  environment  a program, a network or a permission is missing here",
  );
}

/** Asks to judge a criterion without a check; {@linkcode readVerdict} reads the answer. */
export function judgePrompt(criterion: CriterionSpec): string {
  return [
    framed(
      `Judge whether the acceptance criterion ${criterion.id} is met in the working directory.`,
      "Read the files and run commands that show it. Change no file. The last line of your answer is",
      "PASS or FAIL, followed by the reason on the same line. The criterion:",
    ),
    criterion.description,
  ].join("\n");
}

/** Reads a verdict from the last line of an answer, if it has one. */
export function readVerdict(answer: string): boolean | undefined {
  const last = answer.trimEnd().split("\n").at(-1) ?? "";
  const [, word] = /^[\s*_`]*(PASS|FAIL)\b/.exec(last) ?? [];
  return word === undefined ? undefined : word === "PASS";
}

/** Reads a class from an answer of one word. */
export function readClass(answer: string): FailureClass | undefined {
  const word = answer.trim().replace(/^[*_`"]+|[*_`".]+$/g, "").toLowerCase();
  return word === "code_bug" || word === "ac_bug" || word === "environment" ? word : undefined;
}

/** Describes a check in a line for people and models. */
function checkLine({ command, file_exists, content_match }: Check): string {
  if (command !== undefined) return `Its check is the command: ${command}`;
  if (file_exists !== undefined) return `Its check: the file ${file_exists} exists`;
  if (content_match === undefined) return "It has no check and is judged by a model.";
  return `Its check: a line of ${content_match.file} matches /${content_match.pattern}/`;
}

/** What is wrong, the check, what to do, and the check's output. */
function failing(problem: string, check: Check, task: string, output: string): string {
  return framed(problem, checkLine(check), task, "Its output:", quoted(output));
}

function framed(...lines: string[]): string {
  return lines.flatMap((line) => line.split("\n")).map((line) => `# ${line}`.trimEnd()).join("\n");
}

function quoted(output: string): string {
  const end = output.length > OUTPUT_MAX ? `[…]${output.slice(-OUTPUT_MAX)}` : output;
  return (end.trimEnd() || "(nothing)").split("\n").map((line) => `  ${line}`).join("\n");
}
