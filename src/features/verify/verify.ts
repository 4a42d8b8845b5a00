/** Builds, tests or lints a project in the sandbox of the model's commands. */
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

interface VerifyOptions {
  kind: Kind;
  /** Default: all. */
  packages?: readonly string[];
  /** The approved command; no other is run. */
  agreed?: Agreed;
  /** The project's directory, and what is visible around it. */
  scope: SandboxScope;
  sandbox: Sandbox;
  timeout_ms: number;
  /** The time spent on waiting for a person, which does not count. */
  waited_ms?: () => number;
  /** Ends it with all its processes. */
  signal: AbortSignal;
  /** Receives a preview of the output. */
  onOutput?: OnOutput;
}

/** What a person approved. */
export interface Agreed extends Pick<Detected, "detected_by" | "script"> {
  /** The command line. */
  runs: string;
}

export interface VerifyResult {
  command: string;
  /** The file that defines it. */
  detected_by: string;
  /** `null` when a signal or the time limit ended it. */
  exit_code: number | null;
  timed_out: boolean;
  /** If the runner's report was understood. */
  passed?: number;
  failed?: number;
  /** The first ones, as the runner names them. */
  failing?: string[];
  /** The end of the output. */
  log_tail: string;
  duration_ms: number;
}

/**
 * Python's cache ignores an edit within the same second that keeps the size, so verdicts need fresh
 * modules.
 */
const ENVIRONMENT = { PYTHONDONTWRITEBYTECODE: "1" };

/** Returns the command line for a shell. */
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
 * @throws {SvcError} not_found without a command; validation for unusable packages; conflict when
 * the command is not the approved one
 * @throws the signal's reason, once the processes are dead
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
