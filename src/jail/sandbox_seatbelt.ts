/**
 * Runs commands under `sandbox-exec` on macOS. Apple calls it deprecated; there is nothing else for
 * programs that are no apps. Only {@linkcode seatbeltProfile} is tested: nothing here was run on a
 * Mac.
 */
import { dirname, join } from "@std/path";
import { Turns } from "../base/turns.ts";
import { isWithin } from "../os/paths.ts";
import { which } from "../os/which.ts";
import type { Binder } from "./binder.ts";
import { commandEnvironment } from "./command_environment.ts";
import { limitLine } from "./command_limits.ts";
import { isLong, namingLeft, tooLong } from "./command_line.ts";
import { type GitAround, gitAround } from "./git_around.ts";
import { lockedIn } from "./later_locks.ts";
import { makeScratch, PlaceMaker, removeScratch, withoutSockets } from "./own_places.ts";
import { GIT_RUNS, laterNamesAtHome } from "./runs_later.ts";
import type { Bounds, OwnPrograms, Sandbox, SandboxScope, Survey } from "./sandbox.ts";
import { shownPrograms } from "./sandbox_mounts.ts";
import { seatbeltProfile, type SeatbeltScope } from "./seatbelt.ts";
import { setInside } from "./set_inside.ts";

/** Not looked for on the PATH, where another could be. */
export const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

/** Returns the sandbox of macOS. */
export function seatbelt(
  environment: Record<string, string>,
  { shell, survey, binder, bounds: { limits, shared }, own, granted, closed, refusal }: {
    shell: string;
    survey: Survey;
    binder: Binder;
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
  const maker = new PlaceMaker();
  const around = (scope: SandboxScope): GitAround | undefined => {
    const found = gitAround(scope, { home, personal }, binder);
    return found && { ...found, only_reads: found.only_reads ?? READS_GIT };
  };
  const grantedHere: Sandbox["granted"] = (grants, scope) => withoutSockets(granted(grants, scope));
  return {
    kind: "seatbelt",
    ...refusal,
    filtered: false,
    bounded: false,
    limits,
    forwards: false,
    hidden_path: programs.hidden,
    starts: new Turns(),
    runsAbove: () => undefined,
    sharesNetwork: () => Promise.resolve(false),
    argv(command, scope) {
      const { workdir, space, network } = scope;
      const inside = setInside(scope.env);
      const line = inside.line +
        (scope.names_left ? namingLeft(command, { shell, company: "none" }) : command);
      if (isLong(line)) throw tooLong(command);
      const git = around(scope);
      const places = maker.make(space, network, { home, shown: programs.shown, workdir });
      const profile = seatbeltProfile(scopeOf(scope, places, git));
      const first = limits === undefined ? "" : limitLine(limits(), { shell, counted: false });
      return {
        cmd: SANDBOX_EXEC,
        args: ["-p", profile, shell, "-c", first + line],
        env: {
          ...inside.env,
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
      const scratch = makeScratch();
      const of = (writable: boolean) =>
        directories.filter((it) => (it.writable ?? false) === writable).map(({ path }) => path);
      const profile = seatbeltProfile({
        readable: of(false),
        writable: [...of(true), scratch],
        locked: [],
        hidden: directories.flatMap(({ path, hidden = [] }) =>
          hidden.filter((each) => isWithin(each, path))
        ),
        network: false,
      });
      return {
        cmd: SANDBOX_EXEC,
        // The stat of macOS cannot check the identities of the directories as that of Linux does.
        args: ["-p", profile, ...argv],
        env: { ...env, TMPDIR: scratch },
        failed: () => void removeScratch(scratch),
        ended: () => removeScratch(scratch),
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
    },
  };

  function scopeOf(
    scope: SandboxScope,
    places: { writable: readonly string[]; readable: readonly string[] },
    git: GitAround | undefined,
  ): SeatbeltScope {
    const { workdir, added = [], hidden, network, git_tree } = scope;
    const read_only = scope.read_only || git_tree !== undefined;
    const open = [
      ...(read_only ? [] : [workdir]),
      ...added.filter(({ access }) => access !== "read" && !read_only).map(({ path }) => path),
    ];
    return {
      readable: [
        workdir,
        ...added.map(({ path }) => path),
        ...shownPrograms(scope, programs.shown),
        ...places.readable,
        ...(git === undefined ? [] : [git.directory]),
        ...(git?.pointer === undefined ? [] : [git.pointer]),
        ...(git?.shown === undefined ? [] : [git.shown]),
      ],
      writable: [
        ...open,
        ...places.writable,
        ...(git_tree === undefined ? [] : [join(workdir, ".git"), git_tree]),
      ],
      locked: scope.git ? [] : open.flatMap((root) => lockedBelow(root, hidden, scope.background)),
      hidden: [
        ...hidden.filter((path) => path !== workdir),
        ...added.flatMap((it) => it.hidden),
        ...(git === undefined ? [] : scope.checkout?.hidden ?? []),
        ...closed.filter((path) => isWithin(path, workdir)),
      ],
      network,
    };
  }

  /** Returns what runs later below a directory, and the settings of its repositories. */
  function lockedBelow(root: string, hidden: readonly string[], git_read_only = false): string[] {
    const later = lockedIn(root, { home, hidden: new Set(hidden) });
    const files = later.filter(({ kind }) => kind === "file" || kind === "directory");
    const repositories = [
      join(root, ".git"),
      ...later.filter(({ kind }) => kind === "repository").map(({ path }) => path),
    ];
    return [
      ...files.map(({ path }) => path),
      ...laterNamesAtHome().map((name) => join(home, name)).filter((path) => isWithin(path, root)),
      ...repositories.filter((path) => binder.kind(path) !== undefined).flatMap((path) =>
        git_read_only ? [path] : GIT_RUNS.map((name) => join(path, name))
      ),
    ];
  }
}

const READS_GIT = "it lies outside of the working directory";
