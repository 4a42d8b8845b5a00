/** A question whether a call may be made, as every face shows it to a person. */
import { changeLines } from "../base/edits/change_lines.ts";
import type { FileChange } from "../base/edits/changes.ts";
import { exact, exactLine } from "../base/visible.ts";
import type { PersonQuestion } from "../protocol/person_question.ts";
import { sha256Hex } from "../base/sha256.ts";

/** What is asked. */
export interface Question {
  tool: string;
  args: unknown;
  reason: string;
  /** What `always` would let through. */
  rule: string;
  /** Rules that may be kept instead. */
  choices?: readonly string[];
  /** What it changes in files. */
  changes?: readonly FileChange[];
}

/** Where a rule that is kept holds: the key that chooses it, and words for it. */
export const RULE_SCOPES = [
  { scope: "session", key: "s", words: "this session" },
  { scope: "directory", key: "d", words: "this directory" },
  { scope: "everywhere", key: "e", words: "everywhere" },
] as const;

/**
 * All of a question: what it is about, then every argument, a line each. Text of several lines stands
 * below its name, further in than a name can stand.
 */
export function questionText(
  { reason, args, tool, changes }: Pick<Question, "reason" | "args" | "changes"> & {
    tool?: string;
  },
): string {
  const lines = Object.entries(args ?? {}).filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = exact(typeof value === "string" ? value : JSON.stringify(value));
      const shown = text.includes("\n") ? `\n${text}`.replaceAll("\n", "\n    ") : ` ${text}`;
      return `${exactLine(JSON.stringify(name).slice(1, -1))}:${shown}`;
    });
  return [exactLine(reason), ...lines, ...replacedLines(tool, changes)].join("\n");
}

/** What of a file is replaced or deleted that the arguments do not show. */
function replacedLines(tool: string | undefined, changes: Question["changes"] = []): string[] {
  const replaced = changes.filter(({ before, deleted }) =>
    before !== undefined && (tool === "write_file" || deleted)
  );
  if (replaced.length === 0) return [];
  return ["changes:", ...changeLines(replaced).map((line) => `    ${exactLine(line)}`)];
}

/** What `always` would let through, in a line. */
export function alwaysText({ tool, args, rule }: Omit<Question, "reason">): string {
  if (rule === tool) return `every ${exactLine(tool)}`;
  const { command } = (args ?? {}) as { command?: unknown };
  return rule === `${tool} ${command}` ? "exactly this command" : exactLine(rule);
}

/** A rule that may be kept, in a line. */
export function choiceText(
  { tool, args }: Pick<Question, "tool" | "args">,
  choice: string,
): string {
  const { command } = (args ?? {}) as { command?: unknown };
  if (choice === tool) return `every ${exactLine(tool)}`;
  return choice === `${tool} = ${command}` ? "exactly this command" : exactLine(choice);
}

/**
 * Names what was shown to a person, in hexadecimal: `session.approve` compares it with what it would
 * allow.
 */
export async function shownDigest({ tool, args, reason, rule }: Question): Promise<string> {
  return await sha256Hex(JSON.stringify([tool, args, reason, rule]));
}

/**
 * What the model asks the person, with its numbered options. No line of the question can look like
 * an option.
 */
export function personQuestionText({ question, options }: PersonQuestion): string {
  const lines = options.map(({ label, description }, n) => {
    const about = description === undefined ? "" : ` (${exactLine(description)})`;
    return `  ${n + 1}. ${exactLine(label)}${about}`;
  });
  return [exact(question).replaceAll("\n", "\n│ "), ...lines].join("\n");
}
