/** Carries out checks in a workdir, jailed as the tools of a session there are. */
import { runCommand } from "../../jail/command.ts";
import type { Sandbox, SandboxScope } from "../../jail/sandbox.ts";
import type { UnitPool } from "../../jail/unit/pool.ts";
import type { CheckRunner } from "./checks.ts";

export interface CheckParts {
  units: UnitPool;
  sandbox(): Promise<Sandbox>;
  /** What is done in a workdir may see. */
  scope(workdir: string): SandboxScope;
}

/** Makes the runner of one workdir. */
export function checkRunner(
  { units, sandbox, scope }: CheckParts,
  workdir: string,
  env?: Record<string, string>,
): CheckRunner {
  const unit = `checks ${crypto.randomUUID()}`;
  return {
    command: async (command, { timeout_ms, signal }) =>
      await runCommand({
        command,
        scope: { ...scope(workdir), env },
        sandbox: await sandbox(),
        timeout_ms,
        signal,
      }),
    file: (op, args, signal) =>
      units.call(op, args, { session_id: unit, ...scope(workdir) }, signal),
    close: () => units.closeSession(unit),
  };
}
