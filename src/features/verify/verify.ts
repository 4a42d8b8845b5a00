/** Builds, tests or lints a project as it says itself, in the sandbox of the model's commands. */
import type { OnOutput } from "../../base/redraw.ts";
import { BoundedOutput } from "../../jail/output.ts";
import { ShownOutput } from "../../jail/shown_output.ts";
import { runMerged } from "../../jail/process.ts";
import { programArgv, type Sandbox, type SandboxScope } from "../../jail/sandbox.ts";
import { SvcError } from "../../protocol/errors.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import { detect, type Detected, type Kind } from "./detect.ts";
import { OutputLines } from "./output_lines.ts";
import { goText } from "./runners_other.ts";
import { TestReport } from "./test_report.ts";

export interface VerifyOptions {
  kind: Kind;
  /** The parts to test; all by default. */
  packages?: readonly string[];
  /** What was agreed to: nothing else is run. */
  agreed?: Agreed;
  /** The project's directory, and what may be seen beside it. */
  scope: SandboxScope;
  sandbox: Sandbox;
  timeout_ms: number;
  /** How long it has waited for a person; this does not count as its time. */
  waited_ms?: () => number;
  /** Ends it, with all that it started. */
  signal: AbortSignal;
  /** Receives a preview of the output while it is written. */
  onOutput?: OnOutput;
}

/** What a person was told of it. */
export interface Agreed extends Pick<Detected, "detected_by" | "script"> {
  /** The command line. */
  runs: string;
}

export interface VerifyResult {
  /** What was run. */
  command: string;
  /** The file that said so. */
  detected_by: string;
  /** `null` when a signal or the time limit ended it. */
  exit_code: number | null;
  timed_out: boolean;
  /** Tests, where the runner's report was understood. */
  passed?: number;
  failed?: number;
  /** The first of the failing ones, as the runner calls them. */
  failing?: string[];
  /** The end of the output. */
  log_tail: string;
  duration_ms: number;
}

/**
 * Python takes a cached module for the current one when size and second of the source are the same,
 * as after a quick edit: without caches no verdict is about what was there before.
 */
const ENVIRONMENT = { PYTHONDONTWRITEBYTECODE: "1" };

/** The command line of what is run, as a shell would take it. */
export function runsOf({ argv }: Detected): string {
  return argv.map(shellQuote).join(" ");
}

function sameRun(agreed: Agreed, now: Detected): boolean {
  return agreed.runs === runsOf(now) && agreed.detected_by === now.detected_by &&
    agreed.script === now.script;
}

const LOG_TAIL_BYTES = 16 * 1024;

/**
 * Builds, tests or lints a project.
 *
 * @throws {SvcError} not_found when nothing in its directory says how; validation for packages that
 * cannot be chosen; conflict when something else would be run than was agreed to.
 * @throws the signal's reason when it was aborted, once the processes are dead.
 */
export async function verify(options: VerifyOptions): Promise<VerifyResult> {
  const { kind, packages, agreed, scope, sandbox, timeout_ms, waited_ms, signal, onOutput } =
    options;
  const detected = detect(scope.workdir, kind, packages);
  if (agreed !== undefined && !sameRun(agreed, detected)) {
    throw new SvcError("conflict", `${detected.detected_by} has changed since this was approved`, {
      hint: "verify again",
    });
  }
  const { argv, detected_by } = detected;
  const tail = new BoundedOutput(0, LOG_TAIL_BYTES);
  const live = onOutput && new ShownOutput(0, 0, onOutput);
  const report = kind === "test" ? new TestReport() : undefined;
  const encoder = new TextEncoder();
  const lines = new OutputLines((line) => {
    report?.read(line);
    const shown = encoder.encode(goText(line));
    tail.push(shown);
    live?.push(shown);
  });
  try {
    await sandbox.starts.next();
    const { exit_code, timed_out, duration_ms } = await runMerged({
      argv: programArgv(sandbox, argv, { ...scope, env: { ...scope.env, ...ENVIRONMENT } }),
      cwd: scope.workdir,
      sandbox: sandbox.kind,
      timeout_ms,
      waited_ms,
      signal,
      onOutput: (chunk) => lines.push(chunk),
    });
    lines.close();
    return {
      command: argv.join(" "),
      detected_by,
      exit_code,
      timed_out,
      ...report?.summary(),
      log_tail: tail.text(),
      duration_ms,
    };
  } finally {
    live?.close();
  }
}
