import { runCommand } from "../../jail/command.ts";
import type { Sandbox, SandboxScope } from "../../jail/sandbox.ts";
import type { UnitPool } from "../../jail/unit/pool.ts";
import type { CheckRunner } from "./checks.ts";

export interface CheckParts {
  units: UnitPool;
  sandbox(): Promise<Sandbox>;
  scope(workdir: string): SandboxScope;
}

/** Creates the runner of checks in a workdir, jailed as a session's tools there. */
export function checkRunner(
  { units, sandbox, scope }: CheckParts,
  workdir: string,
  env?: Record<string, string>,
): CheckRunner {
  const session_id = `checks ${crypto.randomUUID()}`;
  return {
    command: async (command, { timeout_ms, signal }) =>
      await runCommand({
        command,
        scope: { ...scope(workdir), env },
        sandbox: await sandbox(),
        timeout_ms,
        signal,
      }),
    file: (op, args, signal) => units.call(op, args, { session_id, ...scope(workdir) }, signal),
    close: () => units.closeSession(session_id),
  };
}
