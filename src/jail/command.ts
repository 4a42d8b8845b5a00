/** Runs one shell command for a model and keeps a bounded part of its output. */
import { messageOf } from "../protocol/errors.ts";
import type { OnOutput } from "../base/redraw.ts";
import { type ProcessEnd, runMerged } from "./process.ts";
import type { Sandbox, SandboxScope } from "./sandbox.ts";
import { ShownOutput } from "./shown_output.ts";

/** How a command ended and what it wrote. */
export interface CommandResult extends ProcessEnd {
  /** stdout and stderr in the order of writing; the middle of a long output is omitted. */
  output: string;
  /** Whether a part of the output was omitted. */
  truncated: boolean;
}

/** Why a command was aborted, and what it had written until then. */
export class CommandAborted extends Error {
  /** @param output as in a {@linkcode CommandResult} */
  constructor(override readonly cause: unknown, readonly output: string) {
    super(messageOf(cause), { cause });
    this.name = "CommandAborted";
  }
}

/** What {@linkcode runCommand} runs. */
export interface CommandOptions {
  /** The command line, for the shell. */
  command: string;
  /** What it may see of the file system and the network. */
  scope: SandboxScope;
  /** Where it runs. */
  sandbox: Sandbox;
  /** The time limit. */
  timeout_ms: number;
  /** How long it has waited for a person; this does not count as its time. */
  waited_ms?: () => number;
  /** Aborts it. */
  signal: AbortSignal;
  /** The time to clean up between SIGTERM and SIGKILL, if not the usual one. */
  term_grace_ms?: number;
  /** Receives a preview of the output while it is written. */
  onOutput?: OnOutput;
}

/**
 * Runs a command line to its end, its timeout or its abort, whichever comes first. Nothing that it
 * started in its process group outlives the call; under bubblewrap nothing at all does.
 *
 * @throws {Error} when it cannot be started, for instance because the workdir is missing
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
    return { ...end, output: kept.text(), truncated: kept.truncated };
  } catch (error) {
    throw options.signal.aborted ? new CommandAborted(options.signal.reason, kept.text()) : error;
  } finally {
    kept.close();
  }
}
