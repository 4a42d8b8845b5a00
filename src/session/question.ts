/** A question whether a call may be made, as every face shows it to a person. */
import { exact, exactLine } from "../base/visible.ts";
import { sha256Hex } from "../base/sha256.ts";

/** What is asked. */
export interface Question {
  tool: string;
  args: unknown;
  reason: string;
  /** What `always` would let through. */
  rule: string;
}

/**
 * All of a question: what it is about, then every argument, a line each. Text of several lines stands
 * below its name, further in than a name can stand.
 */
export function questionText({ reason, args }: Pick<Question, "reason" | "args">): string {
  const lines = Object.entries(args ?? {}).filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = exact(typeof value === "string" ? value : JSON.stringify(value));
      const shown = text.includes("\n") ? `\n${text}`.replaceAll("\n", "\n    ") : ` ${text}`;
      return `${exactLine(JSON.stringify(name).slice(1, -1))}:${shown}`;
    });
  return [exactLine(reason), ...lines].join("\n");
}

/** What `always` would let through, in a line. */
export function alwaysText({ tool, args, rule }: Omit<Question, "reason">): string {
  if (rule === tool) return `every ${exactLine(tool)}`;
  const { command } = (args ?? {}) as { command?: unknown };
  return rule === `${tool} ${command}` ? "exactly this command" : exactLine(rule);
}

/**
 * Names what was shown to a person, in hexadecimal: `session.approve` compares it with what it would
 * allow.
 */
export async function shownDigest({ tool, args, reason, rule }: Question): Promise<string> {
  return await sha256Hex(JSON.stringify([tool, args, reason, rule]));
}
