/** Prepares everything needed to connect to a tool server. */
import type { SandboxArgv } from "../../jail/sandbox.ts";
import { type FoundProgram, unfound } from "../../os/own_programs.ts";
import type { Env } from "../../os/paths.ts";
import type { Target } from "./connection.ts";
import type { Login, Logins } from "./logins.ts";
import { savedLogin } from "./oauth.ts";
import type { ServerEntry } from "./policy.ts";

/** Returns what to spawn for a project's program in the sandbox of its directory. */
export type Confine = (
  argv: readonly string[],
  workdir: string,
  env: Record<string, string>,
) => Promise<SandboxArgv>;

export interface TargetOptions {
  entry: ServerEntry;
  /** Its variables or headers, with credentials. */
  values: Record<string, string>;
  env: Env;
  /** The project's directory, for a project's server. */
  workdir?: string;
  /** Finds a program by its configured name, in directories that no session can write. */
  find(program: string): FoundProgram | undefined;
  confine: Confine;
  logins: Logins;
  /** Called with each login before the server sees its token. */
  learn(login: Login): void;
}

/** Variables of the daemon that the operator's programs get, to find files and the language. */
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
  // Without these, Windows finds neither programs nor its own libraries.
  ...(Deno.build.os === "windows"
    ? ["APPDATA", "LOCALAPPDATA", "PATHEXT", "SystemDrive", "SystemRoot", "TEMP", "USERPROFILE"]
    : []),
];

/**
 * Returns how to connect to a server. The operator's programs run in the home directory without a
 * sandbox. A project's programs run in its directory in the sandbox of commands: a session may have
 * written the file that names them.
 */
export async function targetOf(options: TargetOptions): Promise<Target> {
  const { entry, values, env, workdir, find, confine, logins, learn } = options;
  if (entry.transport === "http") {
    const { url } = entry;
    // The person logs in only at the operator's servers.
    const auth = workdir === undefined ? await savedLogin(entry, logins, learn) : undefined;
    return {
      transport: "http",
      url,
      headers: values,
      auth,
      refreshes: logins.refreshesOf(entry.name),
    };
  }
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
