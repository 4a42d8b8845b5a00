/** Runs one shell command for a model and keeps a bounded part of its output. */
import { messageOf } from "../protocol/errors.ts";
import type { OnOutput } from "../base/redraw.ts";
import { type ProcessEnd, type ProcessOptions, runMerged } from "./process.ts";
import type { Sandbox, SandboxScope } from "./sandbox.ts";
import { ShownOutput } from "./shown_output.ts";

export interface CommandResult extends ProcessEnd {
  /** stdout and stderr in the order of writing, without the middle if it is long. */
  output: string;
  /** Its characters that are not plain (`base/looks.ts`). */
  looks?: number[];
  truncated: boolean;
}

/** Why a command was aborted, and its output until then. */
export class CommandAborted extends Error {
  constructor(override readonly cause: unknown, readonly output: string) {
    super(messageOf(cause), { cause });
    this.name = "CommandAborted";
  }
}

export interface CommandOptions
  extends Pick<ProcessOptions, "timeout_ms" | "waited_ms" | "signal" | "term_grace_ms"> {
  /** For the shell. */
  command: string;
  scope: SandboxScope;
  sandbox: Sandbox;
  /** Receives a live preview of the output. */
  onOutput?: OnOutput;
}

/**
 * Runs a command line until it exits, times out or is aborted. Nothing in its process group
 * outlives the call; under bubblewrap nothing at all does.
 *
 * @throws {Error} when it cannot start, for instance because the workdir is missing
 * @throws {CommandAborted} when it was aborted, once the processes are dead
 */
export async function runCommand(options: CommandOptions): Promise<CommandResult> {
  const { command, sandbox, scope, onOutput, ...limits } = options;
  const kept = new ShownOutput(undefined, undefined, onOutput);
  try {
    options.signal.throwIfAborted();
    await sandbox.starts.next();
    const end = await runMerged({
      argv: sandbox.argv(command, { ...scope, names_left: true }),
      cwd: scope.workdir,
      sandbox: sandbox.kind,
      ...limits,
      onOutput: (chunk) => kept.push(chunk),
    });
    const { runs: looks } = kept;
    return { ...end, output: kept.text(), truncated: kept.truncated, ...looks && { looks } };
  } catch (error) {
    throw options.signal.aborted ? new CommandAborted(options.signal.reason, kept.text()) : error;
  } finally {
    kept.close();
  }
}
