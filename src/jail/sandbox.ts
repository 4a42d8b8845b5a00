/**
 * Where the model's commands run: under bubblewrap, which shows them the system read-only, the
 * workdir and nothing else of the person's, or as a plain child where there is no bubblewrap.
 */
import { MemoryFiles } from "../os/memory_file.ts";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import { Turns } from "../base/turns.ts";
import { findOwn, type FoundProgram, isOwn } from "../os/own_programs.ts";
import { firstFile, pathDirs, which } from "../os/which.ts";
import { bindByDescriptor, bindByPath, type Binder } from "./binder.ts";
import { type CommandLimits, countsProcesses, limitLine } from "./command_limits.ts";
import { prepareOwn } from "./own_directory.ts";
import { aloneMounts, checkedFirst, type SeenDirectory } from "./sandbox_alone.ts";
import {
  isSystem,
  mounts,
  personalDirectories,
  rootOf,
  shownPrograms,
  systemParts,
} from "./sandbox_mounts.ts";
import { spawnArgv } from "./spawn.ts";
import { syscallFilter } from "./syscall_filter.ts";
import { type Programs, programsOf, realDirectory } from "./toolchains.ts";

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
  /** The workdir can only be read. */
  read_only?: boolean;
  /** Goes on when the daemon dies: what cut off would leave something half done. */
  lasting?: boolean;
  /** A git that svc itself runs, which runs nothing of the repository's: it may configure it. */
  git?: boolean;
  /**
   * A git that svc itself runs in a working tree below the workdir, where it may start another one in
   * a repository that lies there, and that one's programs: only this tree and git's own are written,
   * without what names programs.
   */
  git_tree?: string;
}

/** What to spawn for a command line, with the whole of its environment. */
export interface SandboxArgv {
  /** The program. */
  cmd: string;
  /** Its arguments; {@linkcode spawnArgv} opens what is passed by descriptor. */
  args: Argument[];
  /** Its environment: nothing else is inherited. */
  env: Record<string, string>;
  /** Windows: the arguments are a command line already, not to be quoted. */
  raw?: boolean;
  /** Called with what was started. */
  started?(child: Deno.ChildProcess): void;
}

/** Turns a shell command line into what to spawn; disposing of it closes the C library. */
export interface Sandbox extends Disposable {
  /** Whether {@linkcode SandboxScope} is enforced or, with `none`, only asked for. */
  readonly kind: "bubblewrap" | "none";
  /** Why not bubblewrap, for `svc doctor`. */
  readonly note?: string;
  /** Whether a filter says which system calls commands may make. */
  readonly filtered: boolean;
  /** Whether the number of a command's processes can be bounded. */
  readonly bounded: boolean;
  /** What to spawn for a command line. It looks at the file system, so it is for one spawn only. */
  argv(command: string, scope: SandboxScope): SandboxArgv;
  /**
   * What to spawn for a program that sees the system's programs and these directories alone, and no
   * network; undefined where nothing can be enforced.
   */
  alone(
    argv: readonly string[],
    directories: readonly SeenDirectory[],
    env: Readonly<Record<string, string>>,
  ): SandboxArgv | undefined;
  /**
   * The outermost of the directories around another one in which something runs now: that sees what
   * is made below its directory from now on.
   */
  runsAbove(directory: string): string | undefined;
  /** Directories of the PATH whose programs commands do not see. */
  readonly hidden_path: readonly string[];
  /** Whose turn it is to start a command: many at once would keep the daemon from all else. */
  readonly starts: Turns;
  /** Where a program is that a command does not see; undefined for one that it sees, or none. */
  unseen(program: string, scope: SandboxScope): string | undefined;
  /**
   * A program that svc itself runs outside of the sandbox, and the PATH for it: from where neither
   * another user nor a session can write. Undefined where there is none.
   *
   * @param writable one more directory that sessions can write.
   */
  outside(program: string, writable?: string): FoundProgram | undefined;
}

/**
 * Finds out which sandbox works here, by really starting it once.
 *
 * @param shell what the operator asked for
 * @param environment the variables that the commands' own are chosen from
 * @param limits what one command may take of the machine, asked for each; without it there are none
 * @param writable the directories that sessions can write now
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
  limits?: () => CommandLimits,
  writable: () => readonly string[] = () => [],
): Promise<Sandbox> {
  const outside = outsideOf(environment, writable);
  const plainly = (note: string) => plain(environment, outside, note, limits);
  if (shell === "none") return plainly('daemon.toml says [sandbox] shell = "none"');
  const found = await findBubblewrap(environment, outside, writable(), limits);
  if (typeof found !== "string") return found;
  if (shell === "auto") return plainly(found);
  throw new Error(
    `[sandbox] shell = "bubblewrap", but ${found}; mend that or set shell = "auto" in daemon.toml`,
  );
}

function outsideOf(
  environment: Record<string, string>,
  writable: () => readonly string[],
): Sandbox["outside"] {
  return (program, more) => {
    const directories = [...writable(), ...(more === undefined ? [] : [more])];
    const windows = Deno.build.os === "windows";
    return findOwn(program, windows ? environment.Path : environment.PATH, directories);
  };
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
  const made = sandbox.argv('exec "$0" "$@"', scope);
  if (sandbox.kind === "none") return { ...made, cmd: argv[0], args: argv.slice(1), raw: false };
  return { ...made, args: [...made.args, ...argv] };
}

/** The sandbox, or a clause that says why there is none. */
async function findBubblewrap(
  environment: Record<string, string>,
  outside: Sandbox["outside"],
  writable: readonly string[],
  limits?: () => CommandLimits,
): Promise<Sandbox | string> {
  if (Deno.build.os !== "linux") return "bubblewrap exists on Linux only";
  const program = ["/usr/bin", "/usr/local/bin", ...pathDirs(environment.PATH)]
    .map((dir) => `${dir}/bwrap`).find((path) => isOwn(path, writable));
  if (program === undefined) {
    return "bwrap is not installed (the package is called bubblewrap)";
  }
  let complaint = "";
  const memory = MemoryFiles.open();
  const walls = [...filterChoices(memory), ...namespaceChoices()];
  for (const binder of [bindByDescriptor(), bindByPath]) {
    if (binder === undefined) continue;
    for (const privileges of privilegeChoices()) {
      for (const wall of walls) {
        const sandbox = bubblewrap(program, [...wall, ...privileges], environment, {
          binder,
          memory,
          filtered: wall.includes("--seccomp"),
          limits,
          outside,
        });
        const probe = await run(
          sandbox.argv("true", { workdir: "/tmp", hidden: [], network: false }),
        );
        if (probe === undefined) return sandbox;
        complaint = probe;
        // A kernel or a bwrap may lack these; what else is missing, is missing without them too.
        if (!/seccomp|userns|user namespace/.test(complaint)) break;
      }
    }
    binder[Symbol.dispose]();
    // One from before there were such arguments.
    if (!complaint.includes("bind-fd")) break;
  }
  memory?.[Symbol.dispose]();
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

/** Which system calls commands may make, where that can be said. */
function filterChoices(memory: MemoryFiles | undefined): Argument[][] {
  const filter = memory && syscallFilter();
  return filter === undefined ? [] : [["--seccomp", memory!.passed(filter)]];
}

/**
 * Without a filter: no user namespaces inside, where commands are in one. It costs another namespace
 * for each command, and the filter refuses them as well.
 */
function namespaceChoices(): string[][] {
  return Deno.uid() === 0 ? [[]] : [["--unshare-user", "--disable-userns"], []];
}

function bubblewrap(
  program: string,
  privileges: Argument[],
  environment: Record<string, string>,
  { binder, memory, filtered, limits, outside }: {
    binder: Binder;
    memory?: MemoryFiles;
    filtered: boolean;
    limits?: () => CommandLimits;
    outside: Sandbox["outside"];
  },
): Sandbox {
  const shell = findShell();
  const counted = countsProcesses(Deno.osRelease());
  const { personal, home, isSeen, programs } = surveyed(environment);
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
  const { directories } = programs;
  const surroundings = {
    personal,
    root: rootOf(),
    parts: systemParts(),
    programs: directories,
    home: commandHome,
  };
  const running = new RunningIn();
  return {
    kind: "bubblewrap",
    filtered,
    // The kernel bounds nobody who is root outside of all namespaces.
    bounded: counted && Deno.uid() !== 0,
    hidden_path: programs.hidden,
    starts: new Turns(),
    runsAbove: (directory) => running.above(directory),
    argv(command, scope) {
      const { workdir } = scope;
      prepareOwn(scope, binder);
      return {
        cmd: program,
        args: [
          ...isolation,
          ...(scope.lasting ? [] : ["--die-with-parent"]),
          ...(scope.network ? [] : ["--unshare-net"]),
          ...mounts(scope, surroundings, binder),
          "--chdir",
          workdir,
          "--",
          shell,
          "-c",
          (limits === undefined ? "" : limitLine(limits(), { shell, counted })) +
          sameDirectory(binder.identity(workdir)) + command,
        ],
        env: commandEnvironment(environment, { shell, home: commandHome, scope, programs }),
        started: (child) => running.add(workdir, child),
      };
    },
    alone: (argv, directories, env) => ({
      cmd: program,
      args: [
        ...isolation,
        ...["--die-with-parent", "--unshare-net"],
        ...aloneMounts(directories),
        ...["--chdir", "/", "--"],
        ...checkedFirst(directories, argv),
      ],
      env: { ...env },
    }),
    outside,
    unseen(name, scope) {
      const path = which(name, environment.PATH);
      if (path === undefined) return undefined;
      const seen = [scope.workdir, ...shownPrograms(scope, directories)];
      const real = Deno.realPathSync(path);
      return isSeen(real) || seen.some((each) => isWithin(real, each)) ? undefined : path;
    },
    [Symbol.dispose]() {
      binder[Symbol.dispose]();
      memory?.[Symbol.dispose]();
    },
  };
}

/** What of a machine commands see. */
function surveyed(environment: Record<string, string>) {
  const personal = personalDirectories(environment);
  const home = realDirectory(environment.HOME);
  const isSeen = (path: string) =>
    isSystem(path) && !personal.some((directory) => isWithin(path, directory));
  const programs = programsOf(environment, { home, personal, isSeen });
  return { personal, home, isSeen, programs };
}

/**
 * Tells of real paths whether a command may see something of them, wherever it works: what lies there
 * needs a cover.
 */
export function shownTo(environment: Record<string, string>): (path: string) => boolean {
  const { isSeen, programs: { directories } } = surveyed(environment);
  return (path) =>
    isSeen(path) || directories.some((each) => isWithin(path, each) || isWithin(each, path));
}

/** The beginning of a command that refuses another directory than the one that was checked. */
function sameDirectory(identity: string | undefined): string {
  if (identity === undefined) return "";
  const words = "svc: the working directory was replaced while the command started";
  return `[ "$(stat -c %d:%i .)" = ${identity} ] || { echo "${words}" >&2; exit 126; }\n`;
}

/** The directories in which something runs. */
class RunningIn {
  readonly #counts = new Map<string, number>();

  add(directory: string, child: Deno.ChildProcess): void {
    this.#counts.set(directory, (this.#counts.get(directory) ?? 0) + 1);
    child.status.finally(() => {
      const left = this.#counts.get(directory)! - 1;
      if (left > 0) this.#counts.set(directory, left);
      else this.#counts.delete(directory);
    });
  }

  above(directory: string): string | undefined {
    return [...this.#counts.keys()]
      .filter((each) => each !== directory && isWithin(directory, each))
      .sort((one, other) => one.length - other.length)[0];
  }
}

function plain(
  environment: Record<string, string>,
  outside: Sandbox["outside"],
  note: string,
  limits?: () => CommandLimits,
): Sandbox {
  const windows = Deno.build.os === "windows";
  const shell = windows ? environment.ComSpec ?? "cmd.exe" : findShell();
  const home = environment.HOME ?? "/tmp";
  return {
    kind: "none",
    note,
    filtered: false,
    bounded: false,
    alone: () => undefined,
    hidden_path: [],
    starts: new Turns(),
    runsAbove: () => undefined,
    unseen: () => undefined,
    outside,
    argv(command, scope) {
      const limited = limits !== undefined && !windows;
      const line = limited ? limitLine(limits(), { shell, counted: false }) : "";
      return {
        cmd: shell,
        args: windows ? ["/d", "/s", "/c", command] : ["-c", line + command],
        env: commandEnvironment(environment, { shell, home, scope }),
        raw: windows,
      };
    },
    [Symbol.dispose]() {},
  };
}

/** Variables that say how to behave and nothing about who is asking. */
function commandEnvironment(
  environment: Record<string, string>,
  { shell, home, scope: { workdir, env }, programs }: {
    shell: string;
    home: string;
    scope: SandboxScope;
    programs?: Programs;
  },
): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (PASSED.has(name) || name.startsWith("LC_")) chosen[name] = value;
  }
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...chosen,
    ...(programs?.path ? { PATH: programs.path } : {}),
    ...(programs?.rustup_home === undefined ? {} : { RUSTUP_HOME: programs.rustup_home }),
    HOME: home,
    PWD: workdir,
    SHELL: shell,
    TERM: "dumb",
    NO_COLOR: "1",
    PAGER: "cat",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    // The configuration of a repository is not for commands to write; a new branch would want to.
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "branch.autoSetupMerge",
    GIT_CONFIG_VALUE_0: "false",
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
async function run(argv: SandboxArgv): Promise<string | undefined> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), 5_000);
  try {
    const probe = await spawnArgv(argv, {
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

export function findShell(): string {
  return firstFile(["/bin/bash", "/usr/bin/bash", "/run/current-system/sw/bin/bash"]) ??
    "/bin/sh";
}
