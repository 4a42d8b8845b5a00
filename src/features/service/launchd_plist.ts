/** The property list of a launchd agent; see launchd.plist(5). */
import { build, parse } from "plist";
import * as z from "zod";
import type { UnitProgram } from "./program.ts";
import { STOP_GRACE_S, STOP_MARGIN_S } from "./limits.ts";

export const LABEL = "svc.daemon";

/** Seconds between two starts, launchd's default. */
const THROTTLE_S = 10;

interface LaunchdAgentOptions {
  /** An absolute path. */
  program: string;
  environment: ReadonlyMap<string, string>;
  /** An absolute path for the output of failed starts. */
  stderr_path: string;
}

/** Returns the agent as XML. */
export function launchdPlist({ program, environment, stderr_path }: LaunchdAgentOptions): string {
  return `${
    build({
      Label: LABEL,
      ProgramArguments: [program, "serve", "--unit"],
      EnvironmentVariables: Object.fromEntries(environment),
      RunAtLoad: true,
      // Restarts after a crash, but not after a requested stop.
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: THROTTLE_S,
      // Turns get their time first.
      ExitTimeOut: STOP_GRACE_S + STOP_MARGIN_S,
      // Sessions inherit it: builds and tests need full speed.
      ProcessType: "Interactive",
      StandardErrorPath: stderr_path,
    })
  }\n`;
}

const Agent = z.object({
  ProgramArguments: z.array(z.string()).min(1),
  EnvironmentVariables: z.record(z.string(), z.string()).default({}),
});

/** Parses an agent; empty if svc did not write it. */
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
