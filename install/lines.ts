/**
 * Shows what permission rules decide about command lines, some of them meant to slip by:
 *
 *   deno task lines
 */
import { type Call, decide, type Held } from "../src/features/permissions/decide.ts";
import { commandsOf } from "../src/features/permissions/programs.ts";
import { parseRule } from "../src/features/permissions/rule.ts";
import { ALLOWED_LINES, ASKED_LINES, SLIPS, WIDE_RULES } from "../tests/support/command_lines.ts";

const RULES: readonly Held[] = WIDE_RULES.map((pattern) => ({
  ...parseRule("allow", `run_command: ${pattern}`),
  source: "config",
}));

/** What becomes of a line in a session that asks, and why. */
function decided(line: string): { runs: boolean; why: string } {
  const call: Call = {
    tool: "run_command",
    args: { command: line },
    rule: line,
    foreign: false,
    posix: true,
  };
  const { action, rule } = decide(call, RULES);
  if (action === "allow") return { runs: true, why: `\`${rule!.pattern}\`` };
  const { unsure, all } = commandsOf(line);
  const not_covered = all.length > 1 ? "a rule does not cover each command" : "no rule covers it";
  return { runs: false, why: unsure ?? not_covered };
}

const GROUPS = [
  ["Everyday lines", ALLOWED_LINES],
  ["Lines that need a look", ASKED_LINES],
  ["Lines that are meant to slip by", SLIPS],
] as const;

/** Returns the counts and a table of each group, in Markdown. */
export function lineTables(): string {
  const parts = GROUPS.map(([title, lines]) => {
    const all = lines.map((line) => ({ line, ...decided(line) }));
    const ran = all.filter(({ runs }) => runs).length;
    const rows = all.map(({ line, runs, why }) =>
      `| ${code(JSON.stringify(line).slice(1, -1))} | ${runs ? "runs" : "asks"} | ${cell(why)} |`
    );
    return {
      count: `| ${title} | ${all.length} | ${ran} | ${all.length - ran} |`,
      table: [`## ${title}`, "", "| line | | why |", "|---|---|---|", ...rows].join("\n"),
    };
  });
  return [
    ["| lines | all | run | ask |", "|---|---|---|---|", ...parts.map(({ count }) => count)]
      .join("\n"),
    `The rules: ${WIDE_RULES.map((rule) => code(rule)).join(", ")}.`,
    ...parts.map(({ table }) => table),
  ].join("\n\n");
}

/** Text as code in a cell of a table, whatever it has. */
function code(text: string): string {
  const ticks = "`".repeat(Math.max(0, ...[...text.matchAll(/`+/g)].map(([it]) => it.length)) + 1);
  const padded = text === "" || /^`|`$/.test(text) ? ` ${text} ` : text;
  return `${ticks}${cell(padded)}${ticks}`;
}

const cell = (text: string) => text.replaceAll("|", "\\|");

if (import.meta.main) console.log(lineTables());
