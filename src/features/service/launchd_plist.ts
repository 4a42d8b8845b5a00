/** The property list of a launchd agent, written and read back; see launchd.plist(5). */
import { build, parse } from "plist";
import * as z from "zod";
import type { UnitProgram } from "./program.ts";
import { STOP_GRACE_S, STOP_MARGIN_S } from "./limits.ts";

export const LABEL = "svc.daemon";

/** Between two starts, in seconds; what launchd does by itself, said. */
const THROTTLE_S = 10;

export interface LaunchdAgentOptions {
  /** The binary: an absolute path. */
  program: string;
  environment: ReadonlyMap<string, string>;
  /** Where what a failed start says goes: an absolute path. */
  stderr_path: string;
}

/** The agent, as XML. */
export function launchdPlist({ program, environment, stderr_path }: LaunchdAgentOptions): string {
  return `${
    build({
      Label: LABEL,
      ProgramArguments: [program, "serve", "--unit"],
      EnvironmentVariables: Object.fromEntries(environment),
      RunAtLoad: true,
      // A daemon that was asked to stop stays so; one that crashed comes back.
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: THROTTLE_S,
      // Killed only when turns have had their time.
      ExitTimeOut: STOP_GRACE_S + STOP_MARGIN_S,
      // What sessions start inherits it: builds and tests are to run at full speed.
      ProcessType: "Interactive",
      StandardErrorPath: stderr_path,
    })
  }\n`;
}

const Agent = z.object({
  ProgramArguments: z.array(z.string()).min(1),
  EnvironmentVariables: z.record(z.string(), z.string()).default({}),
});

/** Reads what an agent runs; nothing of one that svc did not write. */
export function readLaunchdPlist(text: string): UnitProgram {
  const agent = Agent.safeParse(parsed(text));
  if (!agent.success) return { environment: new Map() };
  const { ProgramArguments: [program], EnvironmentVariables } = agent.data;
  return { program, environment: new Map(Object.entries(EnvironmentVariables)) };
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
