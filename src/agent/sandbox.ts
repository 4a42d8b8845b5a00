/**
 * Where the model's commands run: under bubblewrap, which shows them the system read-only, the
 * workdir and nothing else of the person's, or as a plain child where there is no bubblewrap.
 */
import { isWithin } from "../platform/paths.ts";

/** What `daemon.toml` says under `[sandbox] shell`. */
export type ShellSandbox = "auto" | "bubblewrap" | "none";

/** What one command may see. */
export interface SandboxScope {
  /** The absolute real path of the one directory that may be written to. */
  workdir: string;
  /** Absolute real paths that no tool may see; the workdir itself is never one of them. */
  hidden: readonly string[];
  /** Whether the command reaches the network. */
  network: boolean;
}

/** What to spawn for a command line, with the whole of its environment. */
export interface SandboxArgv {
  /** The program. */
  cmd: string;
  /** Its arguments. */
  args: string[];
  /** Its environment: nothing else is inherited. */
  env: Record<string, string>;
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

/** The sandbox, or a clause that says why there is none. */
async function findBubblewrap(environment: Record<string, string>): Promise<Sandbox | string> {
  if (Deno.build.os !== "linux") return "bubblewrap exists on Linux only";
  const program = firstExisting(searchPath("bwrap", environment.PATH));
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
    "--die-with-parent",
    "--new-session",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...privileges,
  ];
  // $HOME stays its own name: programs that ask the user database find the same, empty, place.
  const commandHome = home === undefined || home === "/" ? "/tmp" : home;
  return {
    kind: "bubblewrap",
    argv(command, scope) {
      return {
        cmd: program,
        args: [
          ...isolation,
          ...(scope.network ? [] : ["--unshare-net"]),
          ...mounts(scope, personal, commandHome),
          "--chdir",
          scope.workdir,
          "--",
          shell,
          "-c",
          command,
        ],
        env: commandEnvironment(environment, shell, commandHome, scope.workdir),
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
        env: commandEnvironment(environment, shell, environment.HOME ?? "/tmp", scope.workdir),
      };
    },
  };
}

/**
 * Lays the command's file system: the system read-only, over it what hides things outside the
 * workdir, over that the workdir (which may lie in something hidden), over that what hides things
 * inside it.
 */
function mounts(scope: SandboxScope, personal: readonly string[], home: string): string[] {
  const { workdir } = scope;
  const hidden = scope.hidden.filter((path) => path !== workdir && !carriesSystem(path));
  const inside = existing(hidden.filter((path) => isWithin(path, workdir)));
  const outside = existing(hidden.filter((path) => !isWithin(path, workdir)), personal);
  const isPersonal = (path: string) => personal.some((directory) => isWithin(path, directory));
  return [
    // A session at "/" is possible for root; bound later, it would cover /dev and /proc again.
    ...(workdir === "/" ? ["--bind", "/", "/"] : ["--ro-bind", "/", "/"]),
    ...["--dev", "/dev", "--proc", "/proc"],
    // For root without a user namespace these stay writable, whatever its capabilities.
    ...["/proc/sys", "/proc/sysrq-trigger"].flatMap(readOnly),
    ...personal.flatMap((path) => ["--tmpfs", path]),
    ...outside.flatMap(cover),
    ...(isPersonal(home) ? ["--dir", home] : []),
    ...neededFromRun(scope).filter(isPersonal).flatMap(readOnly),
    ...(workdir === "/" ? [] : ["--bind", workdir, workdir]),
    ...directoriesAbove(inside, workdir).flatMap((path) => ["--bind", path, path]),
    ...inside.flatMap(cover),
    // So that a write to what is hidden fails rather than vanishes. Last: mount points are made.
    ...[...outside, ...inside].filter((each) => each.is_directory)
      .flatMap((each) => ["--remount-ro", each.path]),
  ];
}

interface HiddenPath {
  path: string;
  is_directory: boolean;
}

function cover({ path, is_directory }: HiddenPath): string[] {
  return is_directory ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}

function readOnly(path: string): string[] {
  return ["--ro-bind-try", path, path];
}

/**
 * The paths that need a cover: outermost ones that lie in none of the `covered` directories. One
 * that does not exist needs none, and bwrap would create it.
 */
function existing(paths: readonly string[], covered: readonly string[] = []): HiddenPath[] {
  const found: HiddenPath[] = [];
  for (const path of outermost(paths)) {
    if (covered.some((directory) => isWithin(path, directory))) continue;
    try {
      found.push({ path, is_directory: Deno.statSync(path).isDirectory });
    } catch {
      continue;
    }
  }
  return found;
}

/**
 * The directories between the workdir and what is hidden in it. A mount point cannot be renamed,
 * but the directories above it can: a command that moved one of them would find the hidden path in
 * sight the next time. Bound to itself, each is a mount point too.
 */
function directoriesAbove(hidden: readonly HiddenPath[], workdir: string): string[] {
  const above = new Set<string>();
  for (const { path } of hidden) {
    for (let up = parent(path); up !== workdir && up !== "/"; up = parent(up)) above.add(up);
  }
  return [...above].sort((a, b) => a.length - b.length);
}

/** What a system does not work without, though it lies among the sockets of running programs. */
function neededFromRun(scope: SandboxScope): string[] {
  const resolver = scope.network ? realPath("/etc/resolv.conf") : undefined;
  // NixOS keeps its programs under the first.
  return ["/run/current-system", ...(resolver === undefined ? [] : [resolver])];
}

/** Directories that hold people's files and the sockets of running programs. */
function personalDirectories(environment: Record<string, string>): string[] {
  const { HOME, TMPDIR, XDG_RUNTIME_DIR } = environment;
  const found = ["/tmp", "/var/tmp", "/run", "/home", "/root", HOME, TMPDIR, XDG_RUNTIME_DIR]
    .map(existingDirectory)
    .filter((path) => path !== undefined && !carriesSystem(path));
  return outermost(found as string[]);
}

/** A directory that no command works without is not hidden, even if a session has it as workdir. */
function carriesSystem(path: string): boolean {
  return ["/usr", "/etc", "/bin", "/lib", "/dev", "/proc"].some((needed) => isWithin(needed, path));
}

/** Variables that say how to behave and nothing about who is asking. */
function commandEnvironment(
  environment: Record<string, string>,
  shell: string,
  home: string,
  workdir: string,
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
  return firstExisting(["/bin/bash", "/usr/bin/bash", "/run/current-system/sw/bin/bash"]) ??
    "/bin/sh";
}

function searchPath(name: string, path = ""): string[] {
  const directories = path.split(":").filter((directory) => directory.startsWith("/"));
  return ["/usr/bin", "/usr/local/bin", ...directories].map((directory) => `${directory}/${name}`);
}

function firstExisting(paths: readonly string[]): string | undefined {
  return paths.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

function existingDirectory(path: string | undefined): string | undefined {
  if (path === undefined || !path.startsWith("/")) return undefined;
  const real = realPath(path);
  return real !== undefined && Deno.statSync(real).isDirectory ? real : undefined;
}

function realPath(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}

/** The paths that lie in no other of them, each once. */
function outermost(paths: readonly string[]): string[] {
  const kept: string[] = [];
  const seen = new Set<string>();
  for (const path of [...paths].sort((a, b) => a.length - b.length)) {
    let up = path;
    while (!seen.has(up) && up !== "/") up = parent(up);
    if (seen.has(up)) continue;
    seen.add(path);
    kept.push(path);
  }
  return kept;
}

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}
