/** The end of a run on one screen. */
import { shellQuote } from "../../src/base/shell_quote.ts";
import { countAttacks, countLine, FOLDER } from "../support/attack_count.ts";
import { elapsedText } from "../../src/base/elapsed.ts";
import type { FileRun } from "./file_run.ts";
import type { TestFile } from "./files.ts";
import type { Failure, Outcome } from "./outcome.ts";
import { indented } from "./screen.ts";

/** How many of the slowest are listed: always, and when a call asks for them. */
const SLOWEST = 5;
const SLOWEST_ASKED = 30;
/** How many failed tests are listed with how to run them again. */
const AGAIN = 5;
/** How many lines of errors are shown in a log for each, and on a screen for all. */
const LOG_LINES = 60;
const SCREEN_LINES = 20;

/** Everything that a summary is made from. */
export interface Ended {
  runs: readonly FileRun[];
  outcomes: readonly Outcome[];
  /** What failed apart from tests, such as the compiler. */
  failed: readonly string[];
  /** What was ignored, by reason. */
  ignored: readonly string[];
  /** How many files run with `--all` only. */
  left_out: number;
  /** The files that were not run to their end because the run was stopped. */
  stopped: readonly TestFile[];
  slowest: boolean;
  strict: boolean;
  elapsed_ms: number;
  svc_bin?: string;
}

/** Numbers of tests by their outcome. */
export interface Counts {
  passed: number;
  failed: number;
  flaky: number;
  ignored: number;
}

/** Counts tests; a file that failed as a whole counts as one. */
export function counted({ outcomes, failed, strict }: Ended): Counts {
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((n, it) => n + of(it), 0);
  const flaky = sum((it) => it.flaky.length);
  // A flaky test passed in one of its runs; a flaky file is not one of the tests.
  const flaky_tests = sum((it) => it.flaky.filter(({ name }) => name !== undefined).length);
  return {
    passed: sum((it) => it.passed) - (strict ? flaky_tests : 0),
    failed: failed.length + sum((it) => it.failed.length) + (strict ? flaky : 0),
    flaky,
    ignored: sum((it) => it.ignored),
  };
}

/**
 * Writes the summary. `.ci/run` reads its last line, and the lines that begin with `  failed ` and
 * `  flaky `.
 *
 * @param on_screen whether the errors must leave room for the rest on one screen.
 */
export function summary(ended: Ended, on_screen: boolean): string {
  const { outcomes, failed, ignored, left_out, stopped, strict, elapsed_ms } = ended;
  const counts = counted(ended);
  const parts = slowest(ended);
  const not_run = left_out === 0
    ? ignored
    : [...ignored, `long files, which --all runs: ${left_out}`];
  if (not_run.length > 0) parts.push(`Not run:\n${indented(not_run.join("\n"))}`);
  if (stopped.length > 0) {
    const paths = stopped.map(({ path }) => `  ${path}`);
    const shown = paths.length > 20
      ? [...paths.slice(0, 20), `  and ${paths.length - 20} more files`]
      : paths;
    parts.push(`Not run to their end, because the run was stopped:\n${shown.join("\n")}`);
  }
  const flaky = outcomes.flatMap((it) => it.flaky);
  const broken = outcomes.flatMap((it) => it.failed);
  const each = Math.floor(SCREEN_LINES / (flaky.length + broken.length));
  const lines = on_screen ? Math.max(1, each) : LOG_LINES;
  if (flaky.length > 0) {
    const meaning = strict ? "FLAKY=fail counts them as failed" : "each passed in one of two runs";
    const entries = flaky.map((it) => `  flaky ${titleOf(it)}\n${errorOf(it, lines)}`);
    parts.push(`Flaky, ${meaning}: ${flaky.length}\n${entries.join("\n")}`);
  }
  if (broken.length + failed.length > 0) {
    const entries = broken.map((it) => `  failed ${titleOf(it)}\n${errorOf(it, lines)}`);
    entries.push(...failed.map((error) => `  failed ${cut(error, lines)}`));
    parts.push(`Failed: ${entries.length}\n${entries.join("\n")}`);
    const again = [...new Set(broken.map((it) => againCommand(it, ended.svc_bin)))];
    if (again.length > 0) {
      parts.push(`Run one again:\n${indented(again.slice(0, AGAIN).join("\n"))}`);
    }
  }
  const attacks = ended.runs.filter(({ file }) => file.path.startsWith(FOLDER))
    .flatMap(({ cases }) => cases);
  if (attacks.length > 0) parts.push(`Attacks: ${countLine(countAttacks(attacks))}`);
  const ends = [`${counts.passed} passed`, `${counts.failed} failed`];
  if (counts.flaky > 0) ends.push(`${counts.flaky} flaky`);
  if (counts.ignored > 0) ends.push(`${counts.ignored} not run`);
  parts.push(`${ends.join(", ")} in ${elapsedText(elapsed_ms)}`);
  return parts.join("\n\n");
}

/** Writes the name of a failure: its file, and its test. */
export function titleOf({ file, name }: Pick<Failure, "file" | "name">): string {
  const path = file.on_binary ? `${file.path} (binary)` : file.path;
  return name === undefined ? path : `${path} => ${name}`;
}

/** Returns the first lines of a text, without empty ones. */
export function cut(text: string, lines: number): string {
  const all = text.split("\n").filter((line) => line.trim() !== "");
  return all.length <= lines ? all.join("\n") : [...all.slice(0, lines), "…"].join("\n");
}

function errorOf({ error }: Failure, lines: number): string {
  return indented(cut(error, lines), "    ");
}

/** Writes the command that runs a failure again. */
export function againCommand({ file, name }: Failure, svc_bin: string | undefined): string {
  const words = ["sh", "install/dev.sh", "test", shellQuote(file.path)];
  if (file.on_binary && svc_bin !== undefined) words.unshift(`SVC_BIN=${shellQuote(svc_bin)}`);
  if (name !== undefined) words.push(shellQuote(`--filter=${name}`));
  return words.join(" ");
}

function slowest({ runs, slowest }: Ended): string[] {
  if (runs.length < 2) return [];
  const count = slowest ? SLOWEST_ASKED : SLOWEST;
  const list = (what: string, all: { seconds: number; title: string }[]) => {
    const first = all.sort((a, b) => b.seconds - a.seconds).slice(0, count);
    const lines = first.map(({ seconds, title }) =>
      `${seconds.toFixed(1).padStart(7)} s  ${title}`
    );
    return `Slowest ${what}:\n${lines.join("\n")}`;
  };
  const title = (file: TestFile, name?: string) => titleOf({ file, name });
  const tests = runs.flatMap(({ file, cases }) =>
    cases.map(({ name, seconds }) => ({ seconds, title: title(file, name) }))
  );
  const files = runs.map(({ file, seconds }) => ({ seconds, title: title(file) }));
  return slowest ? [list("tests", tests), list("files", files)] : [list("files", files)];
}
