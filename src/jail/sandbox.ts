/**
 * Runs commands under bubblewrap, which shows only the system (read-only) and the workdir; or as
 * plain child processes without bubblewrap.
 */
import { dirname } from "@std/path";
import { messageOf, SvcError } from "../protocol/errors.ts";
import { lacksForNow } from "../os/lacks.ts";
import { KernelFiles } from "../os/kernel_files.ts";
import { MemoryFiles } from "../os/memory_file.ts";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import { Turns } from "../base/turns.ts";
import { absence, findOwn, type FoundProgram, isOwn } from "../os/own_programs.ts";
import { firstFile, pathDirs, which } from "../os/which.ts";
import { cacheEnvironment, type CommandSpace } from "./command_space.ts";
import { bindByDescriptor, bindByPath, type Binder } from "./binder.ts";
import { isLong, namingLeft, readFrom, tooLong } from "./command_line.ts";
import { type CommandLimits, countsProcesses, limitLine, taskLimit } from "./command_limits.ts";
import { FORWARDER, forwarder, PROXY_SOCKET, proxyEnvironment } from "./forwarder.ts";
import { type Checkout, type GitAround, gitAround } from "./git_around.ts";
import { letGo } from "./git_placeholders.ts";
import type { LimitedCommand, SessionLimits } from "./session_limits.ts";
import { prepareOwn } from "./own_directory.ts";
import { aloneMounts, checkedFirst, type SeenDirectory } from "./sandbox_alone.ts";
import {
  inMemory,
  isSystem,
  mounts,
  personalDirectories,
  rootOf,
  scratchOf,
  shownPrograms,
  systemParts,
} from "./sandbox_mounts.ts";
import { spawnArgv } from "./spawn.ts";
import { syscallFilter } from "./syscall_filter.ts";
import { type Programs, programsOf, realDirectory, withSystem } from "./toolchains.ts";

/** `[sandbox] shell` in `daemon.toml`. */
export type ShellSandbox = "auto" | "bubblewrap" | "none";

/** Reports whether a command can fetch anything. */
export function reachesOut({ network, proxy }: Pick<SandboxScope, "network" | "proxy">): boolean {
  return network || proxy !== undefined;
}

/** What one command may see. */
export interface SandboxScope {
  /** Absolute real path of the only writable directory. */
  workdir: string;
  /** Absolute real paths that no tool may see; never the workdir itself. */
  hidden: readonly string[];
  /** The commands of a session share their limits. */
  session_id?: string;
  /** Added to the variables that every command has. */
  env?: Readonly<Record<string, string>>;
  network: boolean;
  /**
   * A Unix socket, all that a command without network can reach. Needs {@linkcode
   * Sandbox.forwards}.
   */
  proxy?: ScopeProxy;
  /** Directories that outlive the command. */
  space?: CommandSpace;
  /**
   * For the person's own sessions: git may work in the repository around the workdir, and commands
   * may see the rest of the checkout.
   */
  checkout?: Checkout;
  read_only?: boolean;
  /** Whether it outlives the daemon, because an interruption would leave work half done. */
  lasting?: boolean;
  /** Whether its output ends with the names of leftover processes. */
  names_left?: boolean;
  /** Makes `.git` read-only, because others would see changes while it runs. */
  background?: boolean;
  /** For svc's own git that runs nothing from the repository: it may change its configuration. */
  git?: boolean;
  /**
   * For svc's own git in a working tree below the workdir. It may start another git for a nested
   * repository, with that repository's programs. So only this tree and git's own files are
   * writable, except files that name programs.
   */
  git_tree?: string;
}

export interface ScopeProxy {
  /** Outside of the sandbox. */
  path: string;
  /** Hosts on the command's own loopback, reached without the proxy. */
  direct: readonly string[];
}

/** A command line to spawn, with its whole environment. */
export interface SandboxArgv {
  cmd: string;
  /** {@linkcode spawnArgv} opens those that are passed by descriptor. */
  args: Argument[];
  /** Nothing else is inherited. */
  env: Record<string, string>;
  /** Windows: `args` is a complete command line and must not be quoted. */
  raw?: boolean;
  /** Prepares the shared limits for one start. */
  limited?(): LimitedCommand;
  started?(child: Deno.ChildProcess): void;
  /** Called if it could not start. */
  failed?(): void;
}

/** Builds the command to spawn. Disposing of it closes the C library. */
export interface Sandbox extends Disposable {
  /** Whether {@linkcode SandboxScope} is enforced (`bubblewrap`) or not (`none`). */
  readonly kind: "bubblewrap" | "none";
  /** Why bubblewrap is not used, for `svc doctor`. */
  readonly note?: string;
  /** Whether a system call filter applies. */
  readonly filtered: boolean;
  /** Whether the kernel can limit the number of processes. */
  readonly bounded: boolean;
  readonly limits?: () => CommandLimits;
  /** Whether commands without network can have a proxy. */
  readonly forwards: boolean;
  /**
   * Returns what to spawn for a command line. Use it once: it depends on the current file system.
   */
  argv(command: string, scope: SandboxScope): SandboxArgv;
  /**
   * Returns what to spawn for a program that sees only the system's programs and these directories,
   * without network; undefined if that cannot be enforced.
   */
  alone(
    argv: readonly string[],
    directories: readonly SeenDirectory[],
    env: Readonly<Record<string, string>>,
  ): SandboxArgv | undefined;
  /**
   * Returns the workdir of the running command that sees the most around a directory. It sees
   * nothing in the `.svc` of its own directory.
   */
  runsAbove(directory: string): string | undefined;
  /** On the PATH, but not visible to commands. */
  readonly hidden_path: readonly string[];
  /** Queues the starts, because many at once would block the daemon. */
  readonly starts: Turns;
  /** Returns what a command sees of the repository around or beside its workdir. */
  around(scope: SandboxScope): GitAround | undefined;
  /**
   * Returns the path of a program that commands cannot see; undefined if they see it or it is
   * missing.
   */
  unseen(program: string, scope: SandboxScope): string | undefined;
  /**
   * Finds a program that svc runs outside of the sandbox, and a PATH for it, in directories that
   * neither another user nor a session can write.
   *
   * @param writable another directory that sessions can write
   */
  outside(program: string, writable?: string): FoundProgram | undefined;
  /** Says why {@linkcode Sandbox.outside} finds no program, as a clause without a subject. */
  absence(program: string, writable?: string): string;
}

/**
 * Finds the sandbox that works on this machine, by running a command in it.
 *
 * @param environment source of the commands' variables
 * @param limits the limits of each command; none by default
 * @param writable returns the directories that sessions can currently write
 * @param shared the limits of a session's commands together
 * @throws {Error} when bubblewrap is configured and does not work; the message says what to fix
 * @throws {SvcError} unavailable, when bubblewrap may work here, but cannot start now
 */
export async function detectSandbox(
  shell: ShellSandbox,
  environment: Record<string, string> = Deno.env.toObject(),
  limits?: () => CommandLimits,
  writable: () => readonly string[] = () => [],
  shared?: SessionLimits,
): Promise<Sandbox> {
  const own = ownOf(environment, writable);
  const bounds = { limits, shared };
  const plainly = (note: string) => plain(environment, own, note, bounds);
  if (shell === "none") return plainly('daemon.toml sets [sandbox] shell = "none"');
  const found = await findBubblewrap(environment, own, writable(), bounds);
  if (typeof found !== "string") return found;
  if (shell === "auto") return plainly(found);
  throw new Error(
    `[sandbox] shell = "bubblewrap", but ${found}; fix that, or set shell = "auto" in daemon.toml`,
  );
}

interface Bounds {
  limits?: () => CommandLimits;
  shared?: SessionLimits;
}

type Own = Pick<Sandbox, "outside" | "absence">;

function ownOf(
  environment: Record<string, string>,
  writable: () => readonly string[],
): Own {
  const path = Deno.build.os === "windows" ? environment.Path : environment.PATH;
  const all = (more?: string) => [...writable(), ...(more === undefined ? [] : [more])];
  return {
    outside: (program, more) => findOwn(program, path, all(more)),
    absence: (program, more) => absence(program, path, all(more)),
  };
}

/**
 * Returns what to spawn for a program and its arguments, without a shell that interprets them. The
 * program must be on the PATH.
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

/**
 * Returns the sandbox, or a clause that says why there is none.
 *
 * @throws {SvcError} unavailable, if it may work a moment later
 */
async function findBubblewrap(
  environment: Record<string, string>,
  own: Own,
  writable: readonly string[],
  bounds: Bounds,
): Promise<Sandbox | string> {
  if (Deno.build.os !== "linux") return "bubblewrap is only available on Linux";
  const program = ["/usr/bin", "/usr/local/bin", ...pathDirs(environment.PATH)]
    .map((dir) => `${dir}/bwrap`).find((path) => isOwn(path, writable));
  if (program === undefined) {
    return "bwrap is not installed (install the package bubblewrap)";
  }
  let complaint = "";
  using kept = new DisposableStack();
  const memory = kept.use(MemoryFiles.open());
  const walls = [...filterChoices(memory), ...namespaceChoices()];
  for (const binder of [bindByDescriptor(), bindByPath]) {
    if (binder === undefined) continue;
    using tried = new DisposableStack();
    tried.use(binder);
    for (const privileges of privilegeChoices()) {
      for (const wall of walls) {
        const sandbox = bubblewrap(program, [...wall, ...privileges], environment, {
          binder,
          memory,
          filtered: wall.includes("--seccomp"),
          bounds,
          own,
        });
        const probe = await probed(
          // The contents of /tmp may change meanwhile.
          sandbox.argv("true", { workdir: "/tmp", hidden: [], network: false, read_only: true }),
        );
        if (probe === undefined) {
          for (const stack of [tried, kept]) stack.move();
          return sandbox;
        }
        complaint = probe;
        // A kernel or bwrap may lack these features. Other problems remain without them.
        if (!/seccomp|userns|user namespace/.test(complaint)) break;
      }
    }
    // An older bwrap does not know these arguments.
    if (!complaint.includes("bind-fd")) break;
  }
  return `${program} does not work here: ${complaint}`;
}

/**
 * bwrap lets root keep all capabilities, with which a command could unmount the covers. So root
 * keeps only those for work in other owners' directories. A container without CAP_SYS_ADMIN allows
 * only a user namespace, without capabilities.
 */
function privilegeChoices(): string[][] {
  const none = ["--unshare-user-try", "--cap-drop", "ALL"];
  if (Deno.uid() !== 0) return [none];
  const kept = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"];
  return [["--cap-drop", "ALL", ...kept.flatMap((name) => ["--cap-add", name])], none];
}

function filterChoices(memory: MemoryFiles | undefined): Argument[][] {
  const filter = memory && syscallFilter();
  return filter === undefined ? [] : [["--seccomp", memory!.passed(filter)]];
}

/**
 * Without a filter: forbids nested user namespaces. This costs one more namespace for each command;
 * the filter forbids nesting by itself.
 */
function namespaceChoices(): string[][] {
  return Deno.uid() === 0 ? [[]] : [["--unshare-user", "--disable-userns"], []];
}

function bubblewrap(
  program: string,
  privileges: Argument[],
  environment: Record<string, string>,
  { binder, memory, filtered, bounds: { limits, shared }, own }: {
    binder: Binder;
    memory?: MemoryFiles;
    filtered: boolean;
    bounds: Bounds;
    own: Own;
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
  // $HOME keeps its name, to match the user database.
  const commandHome = home === undefined || home === "/" ? "/tmp" : home;
  const { shown } = programs;
  const surroundings = {
    personal,
    root: rootOf(),
    parts: systemParts(),
    programs: shown,
    home: commandHome,
    scratch: scratchOf(commandHome),
  };
  const running = new RunningIn();
  const around = (scope: SandboxScope) => gitAround(scope, { home: commandHome, personal }, binder);
  return {
    kind: "bubblewrap",
    filtered,
    // The kernel does not limit processes of root outside a user namespace.
    bounded: counted && Deno.uid() !== 0,
    limits,
    forwards: memory !== undefined && forwarder() !== undefined,
    hidden_path: programs.hidden,
    starts: new Turns(),
    runsAbove: (directory) => running.above(directory),
    argv(command, scope) {
      const { workdir } = scope;
      const holds: string[] = [];
      const git = around(scope);
      prepareOwn(scope, binder);
      const git_config = gitConfig(scope, memory);
      const way_out = wayOut(scope, binder, memory, counted ? limits?.() : undefined);
      const inside = setInside(scope.env);
      const given = givenLine(command, { shell, memory, names_left: scope.names_left });
      return {
        cmd: program,
        args: [
          ...isolation,
          ...(scope.lasting ? [] : ["--die-with-parent"]),
          ...(scope.network ? [] : ["--unshare-net"]),
          ...mounts(scope, surroundings, binder, { git, holds }),
          ...git_config.args,
          ...given.args,
          ...way_out.args,
          "--chdir",
          workdir,
          "--",
          ...way_out.first,
          shell,
          "-c",
          (limits === undefined ? "" : limitLine(limits(), { shell, counted })) +
          sameDirectory(binder.identity(workdir)) + inside.line + given.line,
        ],
        env: {
          ...inside.env,
          // To git, a bound directory is another file system, above which it would not look.
          GIT_DISCOVERY_ACROSS_FILESYSTEM: "1",
          ...git_config.env,
          ...way_out.env,
          ...(scope.space?.caches === undefined || workdir === "/"
            ? {}
            : cacheEnvironment(reachesOut(scope), commandHome)),
          ...commandEnvironment(environment, { shell, home: commandHome, workdir, programs }),
        },
        limited: shared &&
          (() => shared.begin({ ...scope, scratch: inMemory(scope, surroundings) })),
        started(child) {
          running.add(git?.shown ?? workdir, workdir, child);
          child.status.finally(() => letGo(holds));
        },
        failed: () => letGo(holds),
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
    ...own,
    around,
    unseen(name, scope) {
      const path = which(name, environment.PATH);
      if (path === undefined) return undefined;
      const seen = [scope.workdir, ...shownPrograms(scope, shown)];
      const found = [Deno.realPathSync(path), Deno.realPathSync(dirname(path))];
      const canSee = (real: string) => isSeen(real) || seen.some((each) => isWithin(real, each));
      return found.every(canSee) ? undefined : path;
    },
    [Symbol.dispose]() {
      binder[Symbol.dispose]();
      memory?.[Symbol.dispose]();
    },
  };
}

function surveyed(environment: Record<string, string>) {
  const personal = personalDirectories(environment);
  const home = realDirectory(environment.HOME);
  const isSeen = (path: string) =>
    isSystem(path) && !personal.some((directory) => isWithin(path, directory));
  const programs = programsOf(environment, { home, personal, isSeen });
  return { personal, home, isSeen, programs };
}

/**
 * Returns a function that reports whether a command could see a real path, so that it needs a
 * cover.
 */
export function shownTo(environment: Record<string, string>): (path: string) => boolean {
  const { isSeen, programs: { shown } } = surveyed(environment);
  return (path) =>
    isSeen(path) || shown.some((each) => isWithin(path, each) || isWithin(each, path));
}

/** Returns the start of a command line that fails if the directory was replaced. */
function sameDirectory(identity: string | undefined): string {
  if (identity === undefined) return "";
  const words = "svc: the working directory was replaced while the command started";
  return `[ "$(stat -c %d:%i .)" = ${identity} ] || { echo "${words}" >&2; exit 126; }\n`;
}

class RunningIn {
  readonly #counts = new Map<string, { seen: string; workdir: string; count: number }>();

  add(seen: string, workdir: string, child: Deno.ChildProcess): void {
    const key = `${seen}\0${workdir}`;
    const at = this.#counts.get(key) ?? { seen, workdir, count: 0 };
    at.count++;
    this.#counts.set(key, at);
    child.status.finally(() => {
      if (--at.count === 0) this.#counts.delete(key);
    });
  }

  above(directory: string): string | undefined {
    // Among commands that see the same, a later one hides the directory of an earlier one.
    return [...this.#counts.values()]
      .filter(({ seen, workdir }) => workdir !== directory && isWithin(directory, seen))
      .sort((one, other) => one.seen.length - other.seen.length)[0]?.workdir;
  }
}

/** For a line that is too long for an argument. */
const LONG_LINE = "/run/svc-command";

/** Returns the line for the shell, and the bwrap arguments that it needs. */
function givenLine(
  command: string,
  { shell, memory, names_left = false }: {
    shell: string;
    memory: MemoryFiles | undefined;
    names_left?: boolean;
  },
): { line: string; args: Argument[] } {
  const named = (line: string) => names_left ? namingLeft(line, { shell, alone: true }) : line;
  const line = named(command);
  if (!isLong(line)) return { line, args: [] };
  if (memory === undefined) throw tooLong(command);
  const file = memory.passed(new TextEncoder().encode(command));
  return {
    line: named(readFrom(LONG_LINE)),
    args: ["--perms", "0444", "--file", file, LONG_LINE],
  };
}

function plain(
  environment: Record<string, string>,
  own: Own,
  note: string,
  { limits, shared }: Bounds,
): Sandbox {
  const windows = Deno.build.os === "windows";
  const shell = windows ? environment.ComSpec ?? "cmd.exe" : findShell();
  const home = environment.HOME ?? "/tmp";
  const memory = MemoryFiles.open();
  return {
    kind: "none",
    note,
    filtered: false,
    bounded: false,
    limits,
    forwards: false,
    alone: () => undefined,
    hidden_path: [],
    starts: new Turns(),
    runsAbove: () => undefined,
    around: () => undefined,
    unseen: () => undefined,
    ...own,
    argv(command, scope) {
      const limited = limits !== undefined && !windows;
      const first = limited ? limitLine(limits(), { shell, counted: false }) : "";
      return {
        cmd: shell,
        args: windows
          ? ["/d", "/s", "/c", shortLine(command)]
          : plainLine(command, { shell, first, names_left: scope.names_left, memory }),
        env: {
          ...commandEnvironment(environment, { shell, home, workdir: scope.workdir }),
          ...scope.env,
        },
        limited: shared && (() => shared.begin({ session_id: scope.session_id })),
        raw: windows,
      };
    },
    [Symbol.dispose]() {
      memory?.[Symbol.dispose]();
    },
  };
}

/** @throws {SvcError} for a line that is too long */
function shortLine(command: string): string {
  if (isLong(command)) throw tooLong(command);
  return command;
}

function plainLine(
  command: string,
  { shell, first, names_left = false, memory }: {
    shell: string;
    first: string;
    names_left?: boolean;
    memory: MemoryFiles | undefined;
  },
): Argument[] {
  const named = (line: string) =>
    first + (names_left ? namingLeft(line, { shell, alone: false }) : line);
  if (!isLong(named(command))) return ["-c", named(command)];
  if (memory === undefined) throw tooLong(command);
  return ["-c", named('. "/dev/fd/$0"'), memory.passed(new TextEncoder().encode(command))];
}

const GIT_CONFIG = "/run/svc-gitconfig";

/** Gives git a configuration. */
function gitConfig(
  { space }: SandboxScope,
  memory: MemoryFiles | undefined,
): { args: Argument[]; env: Record<string, string> } {
  const { git_config } = space ?? {};
  if (git_config === undefined || memory === undefined) return { args: [], env: {} };
  const file = memory.passed(new TextEncoder().encode(git_config));
  return {
    args: ["--perms", "0444", "--file", file, GIT_CONFIG],
    env: { GIT_CONFIG_SYSTEM: GIT_CONFIG },
  };
}

/** Gives a command its proxy. `first` is the program before the shell. */
function wayOut(
  { network, proxy }: SandboxScope,
  binder: Binder,
  memory: MemoryFiles | undefined,
  limits: CommandLimits | undefined,
): { args: Argument[]; first: string[]; env: Record<string, string> } {
  const max_processes = limits && taskLimit(limits);
  const program = proxy === undefined || network
    ? undefined
    : forwarder(Deno.build.arch, { max_processes });
  if (program === undefined || memory === undefined) return { args: [], first: [], env: {} };
  return {
    args: [
      ...["--perms", "0555", "--file", memory.passed(program), FORWARDER],
      ...binder.bind(proxy!.path, "ro", PROXY_SOCKET),
    ],
    first: [FORWARDER],
    env: proxyEnvironment(proxy!.direct),
  };
}

/** Returns variables that control behaviour and reveal nothing about the person. */
function commandEnvironment(
  environment: Record<string, string>,
  { shell, home, workdir, programs }: {
    shell: string;
    home: string;
    workdir: string;
    programs?: Programs;
  },
): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (PASSED.has(name) || name.startsWith("LC_")) chosen[name] = value;
  }
  return {
    ...chosen,
    ...commandPath(programs?.path ?? chosen.PATH),
    ...(programs?.rustup_home === undefined ? {} : { RUSTUP_HOME: programs.rustup_home }),
    HOME: home,
    PWD: workdir,
    SHELL: shell,
    TERM: "dumb",
    NO_COLOR: "1",
    PAGER: "cat",
    GIT_PAGER: "cat",
    GIT_TERMINAL_PROMPT: "0",
    // Commands cannot write a repository's configuration, as creating a branch would.
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "branch.autoSetupMerge",
    GIT_CONFIG_VALUE_0: "false",
  };
}

/** On Windows, the system finds its own programs. */
function commandPath(path = ""): Record<string, string> {
  if (Deno.build.os === "windows") return {};
  return { PATH: withSystem(path || "/usr/local/bin") };
}

/** Variables that bash does not let anyone set. */
const KEPT_BY_BASH = new Set(["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"]);

/**
 * Sets variables in the shell inside the sandbox. The programs that build the sandbox run outside,
 * where `LD_PRELOAD` and the like would run code. So each variable is passed as the value of
 * another.
 */
function setInside(
  variables: Readonly<Record<string, string>> = {},
): { env: Record<string, string>; line: string } {
  const assignments = Object.entries(variables)
    .filter(([name]) => VARIABLE_NAME.test(name) && !KEPT_BY_BASH.has(name))
    .map(([name, value], place) => [`SVC_SET_${place}`, `${name}=${value}`] as const);
  return {
    env: Object.fromEntries(assignments),
    line: assignments.map(([passed]) => `export "$${passed}"; unset ${passed}\n`).join(""),
  };
}

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

const PASSED = new Set([
  "PATH",
  "LANG",
  "TZ",
  "USER",
  "LOGNAME",
  // Without these, Windows finds neither programs nor its own libraries.
  ...(Deno.build.os === "windows"
    ? ["Path", "PATHEXT", "SystemRoot", "SystemDrive", "ComSpec", "TEMP", "TMP", "USERPROFILE"]
    : []),
]);

/** For one program that does nothing, on a very busy machine. */
const PROBE_MS = 60_000;

/**
 * Tests whether bwrap can run a program.
 *
 * @returns its complaint if it cannot work on this machine
 * @throws {SvcError} unavailable, if it may work later. That must not count as a machine without
 * bubblewrap, where commands run unconfined.
 */
async function probed(argv: SandboxArgv): Promise<string | undefined> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PROBE_MS);
  let complaint: string;
  try {
    const { success, code, signal, stderr } = await spawnArgv(argv, {
      cwd: "/",
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      signal: stop.signal,
    }).output();
    if (success) return undefined;
    if (stop.signal.aborted) throw notNow("it does not finish");
    // The machine's own filter may end it each time.
    if (signal !== null && signal !== "SIGSYS") throw notNow(`it was ended by ${signal}`);
    // bwrap passes on how its program ended.
    if (code > SIGNALLED && code !== SIGNALLED + SIGSYS) throw notNow(`it exits with ${code}`);
    const said = new TextDecoder().decode(stderr).trim();
    if (lacksForNow(said)) throw notNow(said);
    complaint = said.split("\n", 1)[0] || `it exits with ${code}`;
  } catch (error) {
    if (error instanceof SvcError) throw error;
    complaint = messageOf(error);
  } finally {
    clearTimeout(timer);
  }
  if (lacksForNow(complaint) || areNamespacesUsed(complaint)) throw notNow(complaint);
  return complaint;
}

/** Higher exit codes are 128 + signal. */
const SIGNALLED = 128;
const SIGSYS = 31;

/** Reports whether all of a user's namespaces are in use. A limit of 0 is permanent. */
function areNamespacesUsed(complaint: string): boolean {
  if (!/namespaces exceeded/.test(complaint)) return false;
  const files = KernelFiles.open();
  try {
    return ["user", "mnt", "pid", "net", "ipc", "uts", "cgroup"]
      .every((kind) => files?.read(`/proc/sys/user/max_${kind}_namespaces`)?.trim() !== "0");
  } finally {
    files?.[Symbol.dispose]();
  }
}

function notNow(complaint: string): SvcError {
  return new SvcError("unavailable", `the sandbox of commands cannot start now: ${complaint}`, {
    hint: "nothing was run; try again, and see `svc doctor` if it stays so",
  });
}

export function findShell(): string {
  return firstFile(["/bin/bash", "/usr/bin/bash", "/run/current-system/sw/bin/bash"]) ??
    "/bin/sh";
}
