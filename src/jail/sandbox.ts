/**
 * Runs commands under bubblewrap, which shows only the system (read-only) and the workdir; under
 * Landlock or macOS's Seatbelt, which hold less; or as plain child processes.
 */
import { Turns } from "../base/turns.ts";
import { KernelFiles } from "../os/kernel_files.ts";
import { MemoryFiles } from "../os/memory_file.ts";
import { absence, findOwn, type FoundProgram, isOwn } from "../os/own_programs.ts";
import type { Argument, Passed } from "../os/passing.ts";
import { realPathIfAny } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import { firstFile, pathDirs } from "../os/which.ts";
import type { AddedRoot } from "./added_directories.ts";
import { bindByDescriptor, bindByPath } from "./binder.ts";
import { commandEnvironment } from "./command_environment.ts";
import { type CommandLimits, limitLine } from "./command_limits.ts";
import { isLong, namingLeft, tooLong } from "./command_line.ts";
import type { CommandSpace } from "./command_space.ts";
import type { GitAround, GitScope } from "./git_around.ts";
import { type GrantedPlaces, grantedPlaces, variablesOutside } from "./granted_places.ts";
import type { Grant } from "./grants.ts";
import { landlockAbi } from "./landlock.ts";
import { writesFor } from "./machine_code.ts";
import type { SeenDirectory } from "./sandbox_alone.ts";
import { bubblewrap } from "./sandbox_bubblewrap.ts";
import { landlock } from "./sandbox_landlock.ts";
import { SANDBOX_EXEC, seatbelt } from "./sandbox_seatbelt.ts";
import { explained, type Refusal } from "./namespaces_refused.ts";
import { isSystem, personalDirectories } from "./sandbox_mounts.ts";
import { probed } from "./sandbox_probe.ts";
import type { LimitedCommand, SessionLimits } from "./session_limits.ts";
import { spawnArgv } from "./spawn.ts";
import { syscallFilter } from "./syscall_filter.ts";
import { programsOf, realDirectory } from "./toolchains.ts";

/** `[sandbox] shell` in `daemon.toml`. */
export type ShellSandbox = "auto" | "bubblewrap" | "landlock" | "seatbelt" | "none";

/** What one command may see. */
export interface SandboxScope extends GitScope {
  /** Absolute real paths that no tool may see; never the workdir itself. */
  hidden: readonly string[];
  /** Directories besides the workdir that it sees too. */
  added?: readonly AddedRoot[];
  /** The commands of a session share their limits. */
  session_id?: string;
  /** Added to the variables that every command has. */
  env?: Readonly<Record<string, string>>;
  /** What of the machine it reaches; undefined where the person can grant nothing. */
  grants?: readonly Grant[];
  network: boolean;
  /** All that a command without network can reach. Needs {@linkcode Sandbox.forwards}. */
  proxy?: ScopeProxy;
  /** Whether a command without network is in the one that its session's commands share. */
  shares_network?: boolean;
  /** Directories that outlive the command. */
  space?: CommandSpace;
  /** Whether it outlives the daemon, because an interruption would leave work half done. */
  lasting?: boolean;
  /** Whether its output ends with the names of leftover processes. */
  names_left?: boolean;
}

/** What the person grants to a command. */
export interface Granted extends Pick<SandboxScope, "env" | "grants"> {
  /** Hosts at which its git may use their credentials. */
  git_hosts?: readonly string[];
}

export interface ScopeProxy {
  /** A Unix socket outside of the sandbox. */
  path: string;
  /** Hosts on the command's own loopback, reached without the proxy. */
  direct: readonly string[];
  /** Settings by which git finds the hosts where it may use the person's credentials. */
  git?: readonly (readonly [key: string, value: string])[];
  /** Ports of the machine that the command's own loopback has too, each with a socket's path. */
  ports?: readonly { port: number; path: string }[];
}

/** A command line to spawn, with its whole environment. */
export interface SandboxArgv {
  cmd: string;
  /** {@linkcode spawnArgv} opens those that are passed by descriptor. */
  args: Argument[];
  /** Nothing else is inherited. */
  env: Record<string, string>;
  /** A program that becomes its arguments and is given what its children leave behind. */
  reaper?: Passed;
  /** Windows: `args` is a complete command line and must not be quoted. */
  raw?: boolean;
  /** Prepares the shared limits for one start. */
  limited?(): LimitedCommand;
  started?(child: Deno.ChildProcess): void;
  /** Called if it could not start. */
  failed?(): void;
  /** Called after its end. Removes what only it had. */
  ended?(): Promise<void>;
}

/** Builds the command to spawn. Disposing of it closes the C library. */
export interface Sandbox extends Disposable {
  /** Whether {@linkcode SandboxScope} is enforced: wholly (`bubblewrap`), in part, or not (`none`). */
  readonly kind: "bubblewrap" | "landlock" | "seatbelt" | "none";
  /** Why bubblewrap is not used, and what to do about that, for `svc doctor`. */
  readonly note?: string;
  readonly mend?: string;
  /** The version of the kernel's Landlock, if it is used. */
  readonly abi?: number;
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
  /** Finds what grants open to a command of a scope; what the machine does not have is missing. */
  granted(grants: readonly Grant[], scope: Pick<SandboxScope, "env">): GrantedPlaces;
  /**
   * Waits while the network that a session's commands share is being made. To be called before a
   * command in the background starts, and after it.
   *
   * @returns whether the session has one
   */
  sharesNetwork(session_id: string): Promise<boolean>;
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
 * @param closed directories of the daemon's that no command may see, wherever it works
 * @throws {Error} when the configured one does not work; the message says what to fix
 * @throws {SvcError} unavailable, when one may work here, but cannot start now
 */
export async function detectSandbox(
  shell: ShellSandbox,
  environment: Record<string, string> = Deno.env.toObject(),
  limits?: () => CommandLimits,
  writable: () => readonly string[] = () => [],
  shared?: SessionLimits,
  closed: readonly string[] = [],
): Promise<Sandbox> {
  const own = ownOf(environment, writable);
  const bounds = { limits, shared };
  const granted = grantedBy(environment, writable);
  const found = { own, granted };
  const plainly = (refusal: Refusal) => plain(environment, found, refusal, bounds);
  const lesser = (refusal: Refusal) =>
    (Deno.build.os === "darwin" ? findSeatbelt : findLandlock)(environment, found, {
      bounds,
      closed: closed.flatMap(named),
      refusal,
    });
  if (shell === "none") return plainly({ why: 'daemon.toml sets [sandbox] shell = "none"' });
  if (shell === "landlock" || shell === "seatbelt") {
    const sandbox = await lesser({ why: `daemon.toml sets [sandbox] shell = "${shell}"` });
    if (!("kind" in sandbox)) throw notHere(shell, sandbox);
    if (sandbox.kind === shell) return sandbox;
    sandbox[Symbol.dispose]();
    throw notHere(shell, { why: "Landlock is only available on Linux, and Seatbelt on macOS" });
  }
  const jail = await findBubblewrap(environment, found, writable(), bounds);
  if ("kind" in jail) return jail;
  if (shell === "bubblewrap") throw notHere(shell, jail);
  const sandbox = await lesser(jail);
  if ("kind" in sandbox) return sandbox;
  return plainly({ ...jail, why: `${jail.why}; ${sandbox.why}` });
}

function notHere(shell: ShellSandbox, { why, mend = "fix that" }: Refusal): Error {
  return new Error(
    `[sandbox] shell = "${shell}", but ${why}; ${mend}, or set shell = "auto" in daemon.toml`,
  );
}

/** Returns the names under which the kernel knows a path. */
function named(path: string): string[] {
  const real = realPathIfAny(path);
  return real === undefined || real === path ? [path] : [path, real];
}

export interface Bounds {
  limits?: () => CommandLimits;
  shared?: SessionLimits;
}

export type OwnPrograms = Pick<Sandbox, "outside" | "absence">;

/** What a sandbox finds of the person's. */
interface Found {
  own: OwnPrograms;
  granted: Sandbox["granted"];
}

function grantedBy(
  environment: Record<string, string>,
  writable: () => readonly string[],
): Sandbox["granted"] {
  const home = realDirectory(environment.HOME);
  return (grants, { env }) =>
    grantedPlaces(grants, {
      environment: { ...environment, ...env },
      home,
      writable: grants.length === 0 ? [] : writable(),
    });
}

function ownOf(
  environment: Record<string, string>,
  writable: () => readonly string[],
): OwnPrograms {
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
 * Returns the sandbox, or says why there is none.
 *
 * @throws {SvcError} unavailable, if it may work a moment later
 */
async function findBubblewrap(
  environment: Record<string, string>,
  { own, granted }: Found,
  writable: readonly string[],
  bounds: Bounds,
): Promise<Sandbox | Refusal> {
  if (Deno.build.os !== "linux") return { why: "bubblewrap is only available on Linux" };
  const program = ["/usr/bin", "/usr/local/bin", ...pathDirs(environment.PATH)]
    .map((dir) => `${dir}/bwrap`).find((path) => isOwn(path, writable));
  if (program === undefined) {
    return { why: "bwrap is not installed (install the package bubblewrap)" };
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
          shell: findShell(),
          survey: surveyed(environment),
          binder,
          memory,
          filtered: wall.includes("--seccomp"),
          bounds,
          own,
          granted,
          triedOut: probedBy,
        });
        // The contents of /tmp may change meanwhile.
        const scope = { workdir: "/tmp", hidden: [], network: false, read_only: true };
        const argv = sandbox.argv("true", scope);
        const probe = await probedBy(argv);
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
  return explained(complaint, program);
}

/** What a sandbox that holds less than bubblewrap needs. */
interface Lesser {
  bounds: Bounds;
  closed: readonly string[];
  /** Why bubblewrap is not used. */
  refusal: Refusal;
}

/**
 * Returns the sandbox of macOS, or says why there is none.
 *
 * @throws {SvcError} unavailable, if it may work a moment later
 */
async function findSeatbelt(
  environment: Record<string, string>,
  { own, granted }: Found,
  { bounds, closed, refusal: { why: note, mend } }: Lesser,
): Promise<Sandbox | Refusal> {
  if (firstFile([SANDBOX_EXEC]) === undefined) return { why: `there is no ${SANDBOX_EXEC}` };
  const sandbox = seatbelt(environment, {
    shell: findShell(),
    survey: surveyed(environment),
    binder: bindByPath,
    bounds,
    own,
    granted,
    closed,
    refusal: { note, mend },
  });
  const complaint = await probedBy(sandbox.alone(["/bin/sh", "-c", "true"], [], {})!);
  return complaint === undefined
    ? sandbox
    : { why: `${SANDBOX_EXEC} does not work here: ${complaint}` };
}

/**
 * Returns the sandbox of Landlock, or says why there is none.
 *
 * @throws {SvcError} unavailable, if it may work a moment later
 */
async function findLandlock(
  environment: Record<string, string>,
  { own, granted }: Found,
  { bounds, closed, refusal: { why: note, mend } }: Lesser,
): Promise<Sandbox | Refusal> {
  if (Deno.build.os !== "linux") {
    return { why: "Landlock is only available on Linux, and Seatbelt on macOS" };
  }
  if (!writesFor(Deno.build.arch)) return { why: "svc uses Landlock on x86-64 and ARM64 only" };
  const abi = landlockAbi();
  if (abi === undefined) return { why: "svc uses Landlock with glibc only" };
  if (abi === 0) {
    return { why: "the kernel has no Landlock (Linux 5.13 or later, with landlock in its lsm)" };
  }
  using kept = new DisposableStack();
  const memory = kept.use(MemoryFiles.open());
  const files = kept.use(KernelFiles.open());
  const binder = kept.use(bindByDescriptor());
  if (memory === undefined || files === undefined || binder === undefined) {
    return { why: "svc uses Landlock with glibc only" };
  }
  const sandbox = landlock(abi, environment, {
    shell: findShell(),
    survey: surveyed(environment),
    binder,
    memory,
    files,
    bounds,
    own,
    granted,
    closed,
    refusal: { note, mend },
  });
  const argv = sandbox.alone(["/bin/sh", "-c", "true"], [], {})!;
  const complaint = await probedBy(argv);
  if (complaint !== undefined) return { why: `Landlock does not work here: ${complaint}` };
  kept.move();
  return sandbox;
}

async function probedBy(argv: SandboxArgv): Promise<string | undefined> {
  try {
    return await probed((signal) =>
      spawnArgv(argv, { cwd: "/", stdin: "null", stdout: "null", stderr: "piped", signal }).output()
    );
  } finally {
    await argv.ended?.();
  }
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

/** Finds what commands can see of a machine. */
function surveyed(environment: Record<string, string>) {
  const personal = personalDirectories(environment);
  const home = realDirectory(environment.HOME);
  const isSeen = (path: string) =>
    isSystem(path) && !personal.some((directory) => isWithin(path, directory));
  const programs = programsOf(environment, { home, personal, isSeen });
  return { personal, home, isSeen, programs };
}

/** What {@linkcode surveyed} finds. */
export type Survey = ReturnType<typeof surveyed>;

/**
 * Returns a function that reports whether a command could see a real path, so that it needs a
 * cover.
 */
export function shownTo(environment: Record<string, string>): (path: string) => boolean {
  const { isSeen, programs: { shown } } = surveyed(environment);
  return (path) =>
    isSeen(path) || shown.some((each) => isWithin(path, each) || isWithin(each, path));
}

function plain(
  environment: Record<string, string>,
  { own, granted }: Found,
  { why: note, mend }: Refusal,
  { limits, shared }: Bounds,
): Sandbox {
  const windows = Deno.build.os === "windows";
  const shell = windows ? environment.ComSpec ?? "cmd.exe" : findShell();
  const home = environment.HOME ?? "/tmp";
  const memory = MemoryFiles.open();
  return {
    kind: "none",
    note,
    mend,
    filtered: false,
    bounded: false,
    limits,
    forwards: false,
    alone: () => undefined,
    hidden_path: [],
    sharesNetwork: () => Promise.resolve(false),
    starts: new Turns(),
    runsAbove: () => undefined,
    around: () => undefined,
    unseen: () => undefined,
    granted,
    ...own,
    argv(command, scope) {
      if (windows && isLong(command)) throw tooLong(command);
      const limited = limits !== undefined && !windows;
      const first = limited ? limitLine(limits(), { shell, counted: false }) : "";
      return {
        cmd: shell,
        args: windows
          ? ["/d", "/s", "/c", command]
          : plainLine(command, { shell, first, names_left: scope.names_left, memory }),
        env: {
          ...commandEnvironment(environment, { shell, home, workdir: scope.workdir }),
          ...scope.env,
          ...variablesOutside(granted(scope.grants ?? [], scope)),
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
    first + (names_left ? namingLeft(line, { shell, company: "none" }) : line);
  if (!isLong(named(command))) return ["-c", named(command)];
  if (memory === undefined) throw tooLong(command);
  return ["-c", named('. "/dev/fd/$0"'), memory.passed(new TextEncoder().encode(command))];
}

export function findShell(): string {
  return firstFile(["/bin/bash", "/usr/bin/bash", "/run/current-system/sw/bin/bash"]) ??
    "/bin/sh";
}
