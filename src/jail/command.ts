/** Runs one command line of the model and keeps what is shown of its output. */
import { BoundedOutput, LiveOutput } from "./output.ts";
import { type ProcessEnd, runMerged } from "./process.ts";
import type { Sandbox, SandboxScope } from "./sandbox.ts";

/** How a command ended and what it wrote. */
export interface CommandResult extends ProcessEnd {
  /** stdout and stderr as they were written; the middle of a long one is left out. */
  output: string;
  /** Whether something of the output was left out. */
  truncated: boolean;
}

/** What {@linkcode runCommand} runs. */
export interface CommandOptions {
  /** The command line, for the shell. */
  command: string;
  /** What it may see. */
  scope: SandboxScope;
  /** Where it runs. */
  sandbox: Sandbox;
  /** How long it may run. */
  timeout_ms: number;
  /** Ends it. */
  signal: AbortSignal;
  /** Is passed the output as it comes, paced and shortened as {@linkcode LiveOutput} does. */
  onOutput?: (text: string) => void;
}

/**
 * Runs a command line to its end, its timeout or its abort, whichever comes first. Nothing that it
 * started in its process group outlives the call; under bubblewrap nothing at all does.
 *
 * @throws {Error} when it cannot be started, for instance because the workdir is gone
 * @throws the signal's reason when it was aborted, once the processes are dead
 */
export async function runCommand(options: CommandOptions): Promise<CommandResult> {
  const { command, sandbox, scope, timeout_ms, signal, onOutput } = options;
  const kept = new BoundedOutput();
  const live = onOutput && new LiveOutput(onOutput);
  try {
    signal.throwIfAborted();
    await sandbox.starts.next();
    const end = await runMerged({
      argv: sandbox.argv(command, scope),
      cwd: scope.workdir,
      sandbox: sandbox.kind,
      timeout_ms,
      signal,
      onOutput(chunk) {
        kept.push(chunk);
        live?.push(chunk);
      },
    });
    return { ...end, output: kept.text(), truncated: kept.truncated };
  } finally {
    live?.close();
  }
}
