/** Texts of a question about a call, the same in every client. */
import { changeLines } from "../base/edits/change_lines.ts";
import { exact, exactLine } from "../base/visible.ts";
import type { EventData } from "../protocol/events.ts";
import type { PersonQuestion } from "../protocol/person_question.ts";
import { sha256Hex } from "../base/sha256.ts";

export type Question = Pick<
  EventData["approval.requested"],
  "tool" | "args" | "reason" | "rule" | "choices" | "changes"
>;

/** Where a kept rule applies: its key and its words. */
export const RULE_SCOPES = [
  { scope: "session", key: "s", words: "this session" },
  { scope: "directory", key: "d", words: "this directory" },
  { scope: "everywhere", key: "e", words: "everywhere" },
] as const;

/** A question with all arguments, one per line. Longer texts are indented deeper than any name. */
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

/** Replaced or deleted content that the arguments do not show. */
function replacedLines(tool: string | undefined, changes: Question["changes"] = []): string[] {
  const replaced = changes.filter(({ before, deleted }) =>
    before !== undefined && (tool === "write_file" || deleted)
  );
  if (replaced.length === 0) return [];
  return ["changes:", ...changeLines(replaced).map((line) => `    ${exactLine(line)}`)];
}

/** What `always` would allow, in one line. */
export function alwaysText({ tool, args, rule }: Omit<Question, "reason">): string {
  if (rule === tool) return `every ${exactLine(tool)}`;
  const { command } = (args ?? {}) as { command?: unknown };
  if (rule === `${tool} ${command}`) return "exactly this command";
  const [before, after] = [`${tool}, `, `: ${command}`];
  return rule.startsWith(before) && rule.endsWith(after)
    ? `exactly this command, ${exactLine(rule.slice(before.length, -after.length))}`
    : exactLine(rule);
}

/** A rule to keep, in one line. */
export function choiceText(
  { tool, args }: Pick<Question, "tool" | "args">,
  choice: string,
): string {
  const { command } = (args ?? {}) as { command?: unknown };
  if (choice === tool) return `every ${exactLine(tool)}`;
  return choice === `${tool} = ${command}` ? "exactly this command" : exactLine(choice);
}

/** How a person writes a denial with what to do instead, such as "no, use deno test". */
const NO_AND = /^(?:no?|3)\s*[,:;]\s*(\S.*)$/is;

/** Returns what a typed line says with a denial; undefined for another line. */
export function saidWithNo(line: string): string | undefined {
  return NO_AND.exec(line.trim())?.[1].trim();
}

/** Hex digest of what a person saw; `session.approve` compares it with what it would allow. */
export async function shownDigest({ tool, args, reason, rule }: Question): Promise<string> {
  return await sha256Hex(JSON.stringify([tool, args, reason, rule]));
}

/** The model's question with numbered options. No line of the question can look like an option. */
export function personQuestionText({ question, options }: PersonQuestion): string {
  const lines = options.map(({ label, description }, n) => {
    const about = description === undefined ? "" : ` (${exactLine(description)})`;
    return `  ${n + 1}. ${exactLine(label)}${about}`;
  });
  return [exact(question).replaceAll("\n", "\n│ "), ...lines].join("\n");
}
