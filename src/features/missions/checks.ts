/** Carries out the check of a criterion in the place where its tasks were done. */
import type { CommandResult } from "../../jail/command.ts";
import type { UnitOp, UnitResult } from "../../jail/unit/pool.ts";
import { formatDuration } from "../../base/duration.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import type { Check } from "./spec.ts";

/** Runs things in one directory, jailed as the tools of a session there are. */
export interface CheckRunner {
  command(line: string, options: { timeout_ms: number; signal: AbortSignal }): Promise<
    CommandResult
  >;
  file(op: UnitOp, args: unknown, signal: AbortSignal): Promise<UnitResult>;
  /** Ends what it holds. */
  close(): void;
}

/** What a check found. */
export interface CheckResult {
  kind: "command" | "file_exists" | "content_match" | "judged";
  passed: boolean;
  /** What it printed, bounded, or a sentence that says what was found. */
  output: string;
  /** Of a command; `null` when a signal or the time limit ended it. */
  exit_code?: number | null;
  timed_out?: boolean;
  /** The file is not there. */
  missing?: boolean;
  /** The check itself cannot be carried out: its path leads outside, its pattern never ends. */
  refused?: boolean;
}

/** How long the command of a criterion may take. */
const CHECK_TIMEOUT_MS = 600_000;
/** How long a look at a command without running it may take. */
const LOOK_TIMEOUT_MS = 10_000;
/** The name of a program, not a path to one. */
const PROGRAM = /^[\w.+-]+$/;

/** Carries out a check. @throws the signal's reason when it was aborted. */
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
 * Looks whether a check can be meant at all, without carrying it out: its command is one that a
 * shell can read, and its program is there.
 *
 * @returns what is wrong, as a failed result; `undefined` when nothing is.
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
