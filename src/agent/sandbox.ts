/**
 * Where the model's commands run: under bubblewrap, which shows them the system read-only, the
 * workdir and nothing else of the person's, or as a plain child where there is no bubblewrap.
 */
import { firstFile, pathDirs } from "../platform/which.ts";
import { existingDirectory, mounts, personalDirectories } from "./sandbox_mounts.ts";
import { toolchainsOf } from "./toolchains.ts";

/** What `daemon.toml` says under `[sandbox] shell`. */
export type ShellSandbox = "auto" | "bubblewrap" | "none";

/** What one command may see. */
export interface SandboxScope {
  /** The absolute real path of the one directory that may be written to. */
  workdir: string;
  /** Absolute real paths that no tool may see; the workdir itself is never one of them. */
  hidden: readonly string[];
  /** Variables set beside those that every command has. */
  env?: Readonly<Record<string, string>>;
  /** Whether the command reaches the network. */
  network: boolean;
  /** Goes on when the daemon dies: what cut off would leave something half done. */
  lasting?: boolean;
}

/** What to spawn for a command line, with the whole of its environment. */
export interface SandboxArgv {
  /** The program. */
  cmd: string;
  /** Its arguments. */
  args: string[];
  /** Its environment: nothing else is inherited. */
  env: Record<string, string>;
  /** Windows: the arguments are a command line already, not to be quoted. */
  raw?: boolean;
}

/** Turns a shell command line into what to spawn. */
export interface Sandbox {
  /** Whether {@linkcode SandboxScope} is enforced or, with `none`, only asked for. */
  readonly kind: "bubblewrap" | "none";
  /** Why not bubblewrap, for `svc doctor`. */
  readonly note?: string;
  /** What to spawn for a command line. It looks at the file system, so it is for one spawn only. */
  argv(command: string, scope: SandboxScope): SandboxArgv;
}

/**
 * Finds out which sandbox works here, by really starting it once.
 *
 * @param shell what the operator asked for
 * @param environment the variables that the commands' own are chosen from
 * @throws {Error} when bubblewrap is asked for and does not work; the message says what to mend
 *
 * @example
 * ```ts
 * const sandbox = await detectSandbox("auto");
 * sandbox.argv("ls", { workdir: "/srv/project", hidden: [], network: false });
 * ```
 */
export async function detectSandbox(
  shell: ShellSandbox,
  environment: Record<string, string> = Deno.env.toObject(),
): Promise<Sandbox> {
  if (shell === "none") return plain(environment, 'daemon.toml says [sandbox] shell = "none"');
  const found = await findBubblewrap(environment);
  if (typeof found !== "string") return found;
  if (shell === "auto") return plain(environment, found);
  throw new Error(
    `[sandbox] shell = "bubblewrap", but ${found}; mend that or set shell = "auto" in daemon.toml`,
  );
}

/**
 * What to spawn for a program and its arguments, which no shell looks at.
 *
 * @param sandbox where it runs
 * @param argv the program, found on the PATH, and its arguments
 * @param scope what it may see
 */
export function programArgv(
  sandbox: Sandbox,
  argv: readonly string[],
  scope: SandboxScope,
): SandboxArgv {
  const { cmd, args, env } = sandbox.argv('exec "$0" "$@"', scope);
  if (sandbox.kind === "none") return { cmd: argv[0], args: argv.slice(1), env };
  return { cmd, args: [...args, ...argv], env };
}

/** The sandbox, or a clause that says why there is none. */
async function findBubblewrap(environment: Record<string, string>): Promise<Sandbox | string> {
  if (Deno.build.os !== "linux") return "bubblewrap exists on Linux only";
  const program = firstFile(
    ["/usr/bin", "/usr/local/bin", ...pathDirs(environment.PATH)].map((dir) => `${dir}/bwrap`),
  );
  if (program === undefined) {
    return "bwrap is not installed (the package is called bubblewrap)";
  }
  let complaint = "";
  for (const privileges of privilegeChoices()) {
    const sandbox = bubblewrap(program, privileges, environment);
    const probe = await run(
      sandbox.argv("true", { workdir: "/tmp", hidden: [], network: false }),
    );
    if (probe === undefined) return sandbox;
    complaint = probe;
  }
  return `${program} does not work here: ${complaint}`;
}

/**
 * bwrap leaves root all its capabilities, with which a command would simply unmount what hides
 * things. Root keeps those that let it work in a workdir of other owners, where that is possible;
 * in a container without CAP_SYS_ADMIN only a user namespace is, and there none are left.
 */
function privilegeChoices(): string[][] {
  const none = ["--unshare-user-try", "--cap-drop", "ALL"];
  if (Deno.uid() !== 0) return [none];
  const kept = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"];
  return [["--cap-drop", "ALL", ...kept.flatMap((name) => ["--cap-add", name])], none];
}

function bubblewrap(
  program: string,
  privileges: string[],
  environment: Record<string, string>,
): Sandbox {
  const shell = findShell();
  const personal = personalDirectories(environment);
  const home = existingDirectory(environment.HOME);
  const isolation = [
    "--new-session",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...privileges,
  ];
  // $HOME stays its own name: programs that ask the user database find the same place.
  const commandHome = home === undefined || home === "/" ? "/tmp" : home;
  const toolchains = home === undefined ? [] : toolchainsOf(home, environment.PATH);
  return {
    kind: "bubblewrap",
    argv(command, scope) {
      return {
        cmd: program,
        args: [
          ...isolation,
          ...(scope.lasting ? [] : ["--die-with-parent"]),
          ...(scope.network ? [] : ["--unshare-net"]),
          ...mounts(scope, { personal, toolchains, home: commandHome }),
          "--chdir",
          scope.workdir,
          "--",
          shell,
          "-c",
          command,
        ],
        env: commandEnvironment(environment, shell, commandHome, scope),
      };
    },
  };
}

function plain(environment: Record<string, string>, note: string): Sandbox {
  const windows = Deno.build.os === "windows";
  const shell = windows ? environment.ComSpec ?? "cmd.exe" : findShell();
  return {
    kind: "none",
    note,
    argv(command, scope) {
      return {
        cmd: shell,
        args: windows ? ["/d", "/s", "/c", command] : ["-c", command],
        env: commandEnvironment(environment, shell, environment.HOME ?? "/tmp", scope),
        raw: windows,
      };
    },
  };
}

/** Variables that say how to behave and nothing about who is asking. */
function commandEnvironment(
  environment: Record<string, string>,
  shell: string,
  home: string,
  { workdir, env }: SandboxScope,
): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (PASSED.has(name) || name.startsWith("LC_")) chosen[name] = value;
  }
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...chosen,
    HOME: home,
    PWD: workdir,
    SHELL: shell,
    TERM: "dumb",
    NO_COLOR: "1",
    PAGER: "cat",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    ...env,
  };
}

const PASSED = new Set([
  "PATH",
  "LANG",
  "TZ",
  "USER",
  "LOGNAME",
  // Windows finds neither programs nor its own libraries without these.
  ...(Deno.build.os === "windows"
    ? ["Path", "PATHEXT", "SystemRoot", "SystemDrive", "ComSpec", "TEMP", "TMP", "USERPROFILE"]
    : []),
]);

/** Runs a probe; `undefined` when it worked, else what went wrong. */
async function run({ cmd, args, env }: SandboxArgv): Promise<string | undefined> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 5_000);
  try {
    const probe = await new Deno.Command(cmd, {
      args,
      env,
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      signal: stop.signal,
    }).output();
    if (probe.success) return undefined;
    if (stop.signal.aborted) return "it hangs";
    const [complaint] = new TextDecoder().decode(probe.stderr).trim().split("\n");
    return complaint || `it exits with ${probe.code}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}

function findShell(): string {
  return firstFile(["/bin/bash", "/usr/bin/bash", "/run/current-system/sw/bin/bash"]) ??
    "/bin/sh";
}
