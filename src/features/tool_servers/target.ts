/** Where a tool server is to be found, ready to be connected to. */
import type { SandboxArgv } from "../../jail/sandbox.ts";
import { type FoundProgram, unfound } from "../../os/own_programs.ts";
import type { Env } from "../../os/paths.ts";
import type { Target } from "./connection.ts";
import type { ServerEntry } from "./policy.ts";

/** What to spawn for a project's program in the sandbox of its directory. */
export type Confine = (
  argv: readonly string[],
  workdir: string,
  env: Record<string, string>,
) => Promise<SandboxArgv>;

export interface TargetOptions {
  entry: ServerEntry;
  /** Its variables or headers, credentials filled in. */
  values: Record<string, string>;
  /** The daemon's environment. */
  env: Env;
  /** Directory of the project whose server it is. */
  workdir?: string;
  /** Finds a program that the person named, where no session can put another one. */
  find(program: string): FoundProgram | undefined;
  confine: Confine;
}

/** What the operator's programs are given of the daemon's environment: how to find things, and how to speak. */
const PASSED = [
  "PATH",
  "HOME",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "LOGNAME",
  "SHELL",
  "TMPDIR",
  "TZ",
  "USER",
  // Windows finds neither programs nor its own libraries without these.
  ...(Deno.build.os === "windows"
    ? ["APPDATA", "LOCALAPPDATA", "PATHEXT", "SystemDrive", "SystemRoot", "TEMP", "USERPROFILE"]
    : []),
];

/**
 * The operator's programs run as they are, in the home directory: they are the operator's own. A
 * project's run in its directory and in the sandbox of commands, for a session may have written the
 * file that names them.
 */
export async function targetOf(options: TargetOptions): Promise<Target> {
  const { entry, values, env, workdir, find, confine } = options;
  if (entry.transport === "http") return { transport: "http", url: entry.url, headers: values };
  if (workdir !== undefined) {
    const { cmd, ...rest } = await confine([entry.command, ...entry.args], workdir, values);
    return { transport: "stdio", command: cmd, ...rest, cwd: workdir };
  }
  const passed: Record<string, string> = {};
  for (const name of PASSED) {
    const value = env(name);
    if (value !== undefined) passed[name] = value;
  }
  const { command, args } = entry;
  const found = find(command);
  if (found === undefined) throw unfound(command);
  const cwd = env("HOME") ?? env("USERPROFILE") ?? "/";
  return {
    transport: "stdio",
    command: found.cmd,
    args,
    env: { ...passed, PATH: found.path, ...values },
    cwd,
  };
}
