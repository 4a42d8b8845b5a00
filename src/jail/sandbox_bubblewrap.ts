/** Builds the command lines of bubblewrap. */
import { dirname, join } from "@std/path";
import { Turns } from "../base/turns.ts";
import type { MemoryFiles } from "../os/memory_file.ts";
import type { Argument } from "../os/passing.ts";
import { isWithin } from "../os/paths.ts";
import { which } from "../os/which.ts";
import type { Binder } from "./binder.ts";
import { commandEnvironment } from "./command_environment.ts";
import { type CommandLimits, countsProcesses, limitLine, taskLimit } from "./command_limits.ts";
import { isLong, namingLeft, readFrom, tooLong } from "./command_line.ts";
import { cacheEnvironment, programDirs } from "./command_space.ts";
import { FORWARDER, forwarder, portPaths, PROXY_SOCKET, proxyEnvironment } from "./forwarder.ts";
import { gitAround } from "./git_around.ts";
import { grantMounts, variablesInside } from "./granted_places.ts";
import { letGo } from "./git_placeholders.ts";
import { prepareOwn } from "./own_directory.ts";
import type { Bounds, OwnPrograms, Sandbox, SandboxArgv, SandboxScope, Survey } from "./sandbox.ts";
import { aloneMounts, checkedFirst } from "./sandbox_alone.ts";
import { setInside } from "./set_inside.ts";
import {
  inMemory,
  mounts,
  rootOf,
  scratchOf,
  shownPrograms,
  systemParts,
} from "./sandbox_mounts.ts";
import { SessionNetworks } from "./session_networks.ts";

/** Returns the sandbox of a bwrap that works with these arguments. */
export function bubblewrap(
  program: string,
  privileges: Argument[],
  environment: Record<string, string>,
  {
    shell,
    survey,
    binder,
    memory,
    filtered,
    bounds: { limits, shared },
    own,
    granted,
    triedOut,
  }: {
    shell: string;
    survey: Survey;
    binder: Binder;
    memory?: MemoryFiles;
    filtered: boolean;
    bounds: Bounds;
    own: OwnPrograms;
    granted: Sandbox["granted"];
    /** Returns the complaint of a command that cannot start. */
    triedOut(argv: SandboxArgv): Promise<string | undefined>;
  },
): Sandbox {
  const { personal, home, isSeen, programs } = survey;
  const counted = countsProcesses(Deno.osRelease());
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
  const networks = new SessionNetworks(async ({ cmd, args, bwrap }) => {
    const mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
    const line = [program, ...bwrap, ...isolation, ...mounts, "--", "true"];
    const complaint = await triedOut({ cmd, args: [...args, ...line], env: {} });
    return complaint === undefined;
  });
  const around = (scope: SandboxScope) => gitAround(scope, { home: commandHome, personal }, binder);
  return {
    kind: "bubblewrap",
    filtered,
    // The kernel does not limit processes of root outside a user namespace.
    bounded: counted && Deno.uid() !== 0,
    limits,
    forwards: memory !== undefined && forwarder() !== undefined,
    hidden_path: programs.hidden,
    sharesNetwork: (session_id) => networks.settled(session_id),
    starts: new Turns(),
    runsAbove: (directory) => running.above(directory),
    argv(command, scope) {
      const { workdir } = scope;
      const holds: string[] = [];
      const git = around(scope);
      prepareOwn(scope, binder);
      const git_config = gitConfig(scope, memory);
      const keeps = scope.space?.caches !== undefined && workdir !== "/";
      const network = networks.of(scope);
      const way_out = wayOut(scope, binder, memory, {
        limits: counted ? limits?.() : undefined,
        port: network.port,
      });
      const places = granted(scope.grants ?? [], scope);
      const opened = grantMounts(places, { workdir, home, binder });
      const inside = setInside({ ...scope.env, ...variablesInside(places) });
      const given = givenLine(command, { shell, memory, names_left: scope.names_left });
      return {
        cmd: network.joining?.cmd ?? program,
        args: [
          ...(network.joining === undefined ? [] : [...network.joining.args, program]),
          ...(network.joining?.bwrap ?? []),
          ...isolation,
          ...(scope.lasting ? [] : ["--die-with-parent"]),
          ...(scope.network || network.joining !== undefined ? [] : ["--unshare-net"]),
          ...mounts(scope, surroundings, binder, { git, holds, opened }),
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
          ...withBoth(
            way_out.env,
            !keeps ? {} : cacheEnvironment(commandHome, {
              network: scope.network || scope.proxy !== undefined,
              npm: binder.kind(join(workdir, "package-lock.json")) !== undefined,
              nvm: binder.isThere(join(commandHome, ".nvm")),
            }),
          ),
          ...commandEnvironment(environment, {
            shell,
            home: commandHome,
            workdir,
            programs,
            last: keeps ? programDirs() : [],
            git: scope.network ? [] : scope.proxy?.git,
          }),
        },
        limited: shared &&
          (() => shared.begin({ ...scope, scratch: inMemory(scope, surroundings) })),
        started(child) {
          running.add(git?.shown ?? workdir, workdir, child);
          network.started(child);
          child.status.finally(() => letGo(holds));
        },
        failed() {
          network.failed();
          letGo(holds);
        },
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
    granted,
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
      networks[Symbol.dispose]();
      binder[Symbol.dispose]();
      memory?.[Symbol.dispose]();
    },
  };
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
  const named = (line: string) => names_left ? namingLeft(line, { shell, company: "alone" }) : line;
  const line = named(command);
  if (!isLong(line)) return { line, args: [] };
  if (memory === undefined) throw tooLong(command);
  const file = memory.passed(new TextEncoder().encode(command));
  return {
    line: named(readFrom(LONG_LINE)),
    args: ["--perms", "0444", "--file", file, LONG_LINE],
  };
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
  { limits, port }: { limits: CommandLimits | undefined; port: number },
): { args: Argument[]; first: string[]; env: Record<string, string> } {
  const max_processes = limits && taskLimit(limits);
  const program = proxy === undefined || network
    ? undefined
    : forwarder(Deno.build.arch, { max_processes, port });
  if (program === undefined || memory === undefined) return { args: [], first: [], env: {} };
  const ports = (proxy!.ports ?? []).map(({ port, path }) => ({ port, path, ...portPaths(port) }));
  return {
    args: [
      ...["--perms", "0555", "--file", memory.passed(program), FORWARDER],
      ...binder.bind(proxy!.path, "ro", PROXY_SOCKET),
      ...ports.flatMap(({ port, path, socket, program }) => {
        const made = forwarder(Deno.build.arch, { max_processes, port, socket, optional: true })!;
        return [
          ...["--perms", "0555", "--file", memory.passed(made), program],
          ...binder.bind(path, "ro", socket),
        ];
      }),
    ],
    first: [FORWARDER, ...ports.map(({ program }) => program)],
    env: proxyEnvironment(proxy!.direct, port),
  };
}

/** Merges variables; what both set is a list of options. */
function withBoth(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): Record<string, string> {
  const both = Object.keys(one).filter((name) => name in other);
  return {
    ...one,
    ...other,
    ...Object.fromEntries(both.map((name) => [name, `${one[name]} ${other[name]}`])),
  };
}
