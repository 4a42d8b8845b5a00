/**
 * Runs commands under Landlock and a filter of system calls, where bubblewrap does not work. They
 * keep the machine's own processes, names and directories, of which they reach only some. So it
 * promises less: docs/threat-model.md lists what.
 */
import { dirname } from "@std/path";
import { Turns } from "../base/turns.ts";
import type { KernelFiles } from "../os/kernel_files.ts";
import type { MemoryFiles } from "../os/memory_file.ts";
import type { Passed } from "../os/passing.ts";
import { isWithin } from "../os/paths.ts";
import { which } from "../os/which.ts";
import type { Binder } from "./binder.ts";
import { commandEnvironment } from "./command_environment.ts";
import { limitLine } from "./command_limits.ts";
import { isLong, namingLeft } from "./command_line.ts";
import { type GitAround, gitAround } from "./git_around.ts";
import { SINCE } from "./landlock.ts";
import { type LandlockRule, launcher, type LaunchOptions, reaper } from "./landlock_launcher.ts";
import { aloneRules, landlockRules, type LandlockSurroundings } from "./landlock_rules.ts";
import { makeScratch, PlaceMaker, removeScratch, withoutSockets } from "./own_places.ts";
import type { Bounds, OwnPrograms, Sandbox, SandboxScope, Survey } from "./sandbox.ts";
import { checkedFirst } from "./sandbox_alone.ts";
import { rootOf, shownPrograms, systemParts } from "./sandbox_mounts.ts";
import { setInside } from "./set_inside.ts";
import { syscallFilter } from "./syscall_filter.ts";

/** The bits of CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER. */
const KEPT_BY_ROOT = 0b1011;
const SHELL = "/bin/sh";

/** Returns the sandbox of a kernel with this version of Landlock's interface. */
export function landlock(
  abi: number,
  environment: Record<string, string>,
  {
    shell,
    survey,
    binder,
    memory,
    files,
    bounds: { limits, shared },
    own,
    granted,
    closed,
    refusal,
  }: {
    shell: string;
    survey: Survey;
    binder: Binder;
    memory: MemoryFiles;
    files: KernelFiles;
    bounds: Bounds;
    own: OwnPrograms;
    granted: Sandbox["granted"];
    /** The daemon's directories. */
    closed: readonly string[];
    /** Why bubblewrap is not used. */
    refusal: Pick<Sandbox, "note" | "mend">;
  },
): Sandbox {
  const { personal, home = "/", isSeen, programs } = survey;
  const capabilities = keptCapabilities(files);
  const surroundings: LandlockSurroundings = {
    abi,
    root: rootOf(),
    parts: systemParts().map((path) => Deno.realPathSync(path)),
    programs: programs.shown,
    personal,
    own: closed,
    binder,
  };
  const filters = filtersOf(abi);
  const around = (scope: SandboxScope): GitAround | undefined => {
    const found = gitAround(scope, { home, personal }, binder);
    return found && { ...found, only_reads: found.only_reads ?? READS_GIT };
  };
  const grantedHere: Sandbox["granted"] = (grants, scope) => withoutSockets(granted(grants, scope));
  const maker = new PlaceMaker();
  const reaping = memory.program(() => reaper()!);
  const launched = (options: Pick<LaunchOptions, "rules" | "network">, kept?: () => number) =>
    memory.program(() =>
      launcher({
        ...options,
        abi,
        capabilities,
        filter: filters(options.network),
        kept: kept?.(),
      })!
    );
  return {
    kind: "landlock",
    ...refusal,
    abi,
    filtered: true,
    bounded: false,
    limits,
    forwards: false,
    hidden_path: programs.hidden,
    starts: new Turns(),
    runsAbove: () => undefined,
    sharesNetwork: () => Promise.resolve(false),
    argv(command, scope) {
      const { workdir, space, network } = scope;
      const git = around(scope);
      const places = maker.make(space, network, { home, shown: programs.shown, workdir });
      const granted = grantedHere(scope.grants ?? [], scope);
      let rules: LandlockRule[];
      try {
        rules = landlockRules(scope, surroundings, { ...places, git, granted });
      } catch (error) {
        void places.remove();
        throw error;
      }
      const inside = setInside(scope.env);
      const named = (line: string) =>
        inside.line + (scope.names_left ? namingLeft(line, { shell, company: "reaped" }) : line);
      const is_long = isLong(named(command));
      const line = is_long ? new Line(memory.passed(new TextEncoder().encode(command))) : undefined;
      const program = launched({ rules, network }, line && (() => line.number));
      const first = limits === undefined
        ? ""
        : limitLine(limits(), { shell: SHELL, counted: false });
      return {
        cmd: SHELL,
        reaper: reaping,
        args: line === undefined
          ? ["-c", first + BECOME, program, shell, "-c", named(command)]
          : ["-c", first + BECOME_WITH_LINE, line, program, shell, "-c", named('. "/dev/fd/$0"')],
        env: {
          ...inside.env,
          // Above the workdir git would find what it may not read, and give up.
          ...(git === undefined ? { GIT_CEILING_DIRECTORIES: dirname(workdir) } : {}),
          ...places.env,
          ...commandEnvironment(environment, {
            ...{ shell, home: places.home, workdir, programs },
            last: places.programs,
          }),
        },
        limited: shared && (() => shared.begin({ session_id: scope.session_id, space })),
        failed: () => void places.remove(),
        ended: places.remove,
      };
    },
    alone(argv, directories, env) {
      // What is in a directory that can be written cannot be hidden.
      const open = directories.some(({ path, writable, hidden = [] }) =>
        writable === true && hidden.some((each) => isWithin(each, path))
      );
      if (open) return undefined;
      const scratch = makeScratch();
      const remove = () => removeScratch(scratch);
      const seen = [...directories, { path: scratch, writable: true }];
      const program = launched({ rules: aloneRules(seen, surroundings), network: false });
      return {
        cmd: SHELL,
        reaper: reaping,
        args: ["-c", BECOME, program, ...checkedFirst(directories, argv)],
        env: { ...env, TMPDIR: scratch },
        failed: () => void remove(),
        ended: remove,
      };
    },
    granted: grantedHere,
    ...own,
    around,
    unseen(name, scope) {
      const path = which(name, environment.PATH);
      if (path === undefined) return undefined;
      const seen = [scope.workdir, ...shownPrograms(scope, programs.shown)];
      const found = [Deno.realPathSync(path), Deno.realPathSync(dirname(path))];
      const canSee = (real: string) => isSeen(real) || seen.some((each) => isWithin(real, each));
      return found.every(canSee) ? undefined : path;
    },
    [Symbol.dispose]() {
      binder[Symbol.dispose]();
      memory[Symbol.dispose]();
      files[Symbol.dispose]();
    },
  };
}

const READS_GIT = "Landlock cannot protect the parts of it that run programs";

/** The first argument is the number of the launcher's descriptor. */
const BECOME = 'exec "/proc/self/fd/$0" "$@"';
/** The first argument is the number of the line's descriptor, which the command gets as `$0`. */
const BECOME_WITH_LINE = 'p=$1; shift; exec "/proc/self/fd/$p" "$@" "$0"';

/** A command line in a descriptor. It is opened before the launcher, which keeps it open. */
class Line implements Passed {
  readonly #passed: Passed;
  number = -1;

  constructor(passed: Passed) {
    this.#passed = passed;
  }

  open(): ReturnType<Passed["open"]> {
    const opened = this.#passed.open();
    this.number = opened.number;
    return opened;
  }
}

/** Root keeps what bubblewrap leaves it, as far as it has it. */
function keptCapabilities(files: KernelFiles): number {
  if (Deno.uid() !== 0) return 0;
  const [, permitted = "0"] = files.read("/proc/self/status")?.match(/^CapPrm:\s+(\S+)$/m) ?? [];
  return Number(BigInt(`0x${permitted}`) & BigInt(KEPT_BY_ROOT));
}

/** Returns what builds the filter once for each kind of network. */
function filtersOf(abi: number): (network: boolean) => Uint8Array {
  const [off, on] = [false, true].map((network) =>
    syscallFilter(Deno.build.arch, {
      network,
      truncate: abi < SINCE.truncate,
      signals: abi < SINCE.scopes,
    })!
  );
  return (network) => network ? on : off;
}
