/** Runs the check of a criterion where its tasks were done. */
import type { CommandResult } from "../../jail/command.ts";
import type { UnitOp, UnitResult } from "../../jail/unit/pool.ts";
import { formatDuration } from "../../base/duration.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import type { Check } from "./spec.ts";

/** Runs commands and file tools in one directory, jailed as a session's tools there. */
export interface CheckRunner {
  command(line: string, options: { timeout_ms: number; signal: AbortSignal }): Promise<
    CommandResult
  >;
  file(op: UnitOp, args: unknown, signal: AbortSignal): Promise<UnitResult>;
  close(): void;
}

export interface CheckResult {
  kind: "command" | "file_exists" | "content_match" | "judged";
  passed: boolean;
  /** What it printed, bounded, or what was found, in a sentence. */
  output: string;
  /** Of a command; `null` if a signal or the time limit ended it. */
  exit_code?: number | null;
  timed_out?: boolean;
  missing?: boolean;
  /** The check itself is invalid: its path leads outside, or its pattern never ends. */
  refused?: boolean;
}

/** Time limit of a criterion's command. */
const CHECK_TIMEOUT_MS = 600_000;
/** Time limit of a test of a command that does not run it. */
const LOOK_TIMEOUT_MS = 10_000;
/** The name of a program, not a path to one. */
const PROGRAM = /^[\w.+-]+$/;

/** Runs a check. @throws the signal's reason when aborted. */
export async function runCheck(
  { command, file_exists, content_match }: Check,
  runner: CheckRunner,
  signal: AbortSignal,
): Promise<CheckResult> {
  if (command !== undefined) return await runCommandCheck(command, runner, signal);
  if (file_exists !== undefined) {
    const { ok, output } = await runner.file("stat", { path: file_exists }, signal);
    return { kind: "file_exists", passed: ok, output, ...(ok ? {} : problem(output)) };
  }
  if (content_match === undefined) throw new Error("the criterion has no check");
  const { file, pattern } = content_match;
  const { ok, output } = await runner.file("grep", { path: file, pattern, limit: 1 }, signal);
  const passed = ok && !output.startsWith("[no match]");
  const found = ok ? { refused: output.includes("[skipped") } : problem(output);
  return { kind: "content_match", passed, output, ...(passed ? {} : found) };
}

async function runCommandCheck(
  command: string,
  runner: CheckRunner,
  signal: AbortSignal,
): Promise<CheckResult> {
  const timeout_ms = CHECK_TIMEOUT_MS;
  const { exit_code, output, timed_out } = await runner.command(command, { timeout_ms, signal });
  const end = timed_out
    ? `stopped after the time limit of ${formatDuration(timeout_ms)}`
    : `exit code ${exit_code ?? "none"}`;
  return {
    kind: "command",
    passed: exit_code === 0,
    output: `${output.trimEnd()}\n[${end}]`.trimStart(),
    exit_code,
    timed_out,
  };
}

/** What a file tool's failure says about the check. */
function problem(output: string): { missing: boolean; refused: boolean } {
  const missing = /does not exist|not found|no such/i.test(output);
  return { missing, refused: !missing };
}

/**
 * Examines a check without running it: whether a shell can parse its command, and its program
 * exists.
 *
 * @returns the problem as a failed result, if there is one.
 */
export async function examineCheck(
  { command }: Check,
  runner: CheckRunner,
  signal: AbortSignal,
): Promise<CheckResult | undefined> {
  if (command === undefined) return undefined;
  const look = async (line: string) =>
    await runner.command(line, { timeout_ms: LOOK_TIMEOUT_MS, signal });
  const read = await look(`"$SHELL" -n -c ${shellQuote(command)}`);
  if (read.exit_code !== 0) {
    return { kind: "command", passed: false, output: read.output, exit_code: read.exit_code };
  }
  const [word] = command.trim().split(/\s/, 1);
  if (!PROGRAM.test(word)) return undefined;
  const found = await look(`command -v ${shellQuote(word)}`);
  if (found.exit_code === 0) return undefined;
  return { kind: "command", passed: false, output: `${word}: command not found`, exit_code: 127 };
}
