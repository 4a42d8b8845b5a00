/**
 * What a command under Landlock may reach of the file system. Landlock only allows: what is inside
 * an allowed directory cannot be hidden again. So a directory with something hidden inside is
 * replaced by what else is in it.
 */
import { readDirIfAllowed, realPathIfAny } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import { SvcError } from "../protocol/errors.ts";
import type { Binder } from "./binder.ts";
import type { AddedRoot } from "./added_directories.ts";
import type { GitAround, GitScope } from "./git_around.ts";
import type { GrantedPlaces } from "./granted_places.ts";
import { type Allowed, rightsOf } from "./landlock.ts";
import type { LandlockRule } from "./landlock_launcher.ts";
import { type SeenDirectory, SYSTEM } from "./sandbox_alone.ts";
import { resolver, type Root, shownPrograms } from "./sandbox_mounts.ts";

/** What a machine has for commands. All paths are absolute and real. */
export interface LandlockSurroundings {
  abi: number;
  root(): Pick<Root, "system">;
  /** Parts of the system in directories that are not shown. */
  parts: readonly string[];
  /** People's own programs and libraries. */
  programs: readonly string[];
  /** People's own files. */
  personal: readonly string[];
  /** The daemon's files, closed even to a session that works around them. */
  own: readonly string[];
  binder: Binder;
}

/** The part of a command's scope that rules can express. */
interface Scope extends GitScope {
  /** Absolute real paths that no tool may see; those inside the workdir cannot be hidden. */
  hidden: readonly string[];
  added?: readonly AddedRoot[];
  network: boolean;
}

/** What belongs to one command. */
export interface LandlockPlaces {
  /** Directories that it may write besides its workdir. */
  writable: readonly string[];
  /** Files that it may read. */
  readable: readonly string[];
  git: GitAround | undefined;
  granted: GrantedPlaces;
}

/** Anyone may use them; a terminal of the person's is in none of them. */
export const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"].map((name) =>
  `/dev/${name}`
);

/** Directories of the kernel: a session in the root directory writes there no more than others. */
const OF_KERNEL = ["/dev", "/proc", "/sys"];

/** Entries to look at for hidden paths, in all directories of one command. */
const LISTED_MAX = 20_000;
/** The kernel takes more, but each takes time. */
const RULES_MAX = 4_000;

/**
 * Returns the rules of a command.
 *
 * @throws {SvcError} conflict when there would be too many
 */
export function landlockRules(
  scope: Scope,
  { abi, root, parts, programs, personal, own, binder }: LandlockSurroundings,
  { writable, readable, git, granted }: LandlockPlaces,
): LandlockRule[] {
  const { workdir, added = [], hidden } = scope;
  const wanted = new Map<string, Allowed>();
  const want = (allowed: Allowed, paths: readonly string[]) => {
    for (const path of paths) wanted.set(path, allowed);
  };
  const lister = new Lister();
  const outside = hidden.filter((path) => !isWithin(path, workdir));
  const closed = [...own, ...(workdir === "/" ? [...OF_KERNEL, ...personal] : [])];
  const read_only = scope.read_only || scope.git_tree !== undefined;
  want("run", root().system.flatMap((path) => lister.without(path, [...personal, ...outside])));
  want("run", parts);
  want("run", shownPrograms(scope, programs).filter((path) => binder.isThere(path)));
  want("read", ["/proc", ...readable, ...granted.system, ...resolver(scope)]);
  want("device", [...DEVICES, ...granted.devices]);
  if (git !== undefined) {
    want("read", [git.directory, ...(git.pointer === undefined ? [] : [git.pointer])]);
    const around = [...(scope.checkout?.hidden ?? []), ...personal, ...outside];
    if (git.shown !== undefined) want("run", lister.without(git.shown, inside(around, git.shown)));
  }
  for (const { path, access, hidden: in_it } of added) {
    const only_read = access === "read" || read_only;
    // A directory with something hidden in it could have no new files.
    const without = [...inside(own, path), ...(only_read ? in_it : [])];
    want(only_read ? "run" : "write", lister.without(path, without));
  }
  want("write", writable);
  const in_workdir = read_only ? hidden.filter((path) => path !== workdir) : [];
  const seen = lister.without(workdir, inside([...closed, ...in_workdir], workdir));
  want(read_only ? "run" : "write", seen);
  // Its listing names also what is closed in it.
  if (seen[0] !== workdir) want("look", [workdir]);
  if (scope.git_tree !== undefined) want("write", [`${workdir}/.git`, scope.git_tree]);
  if (wanted.size > RULES_MAX) {
    throw new SvcError("conflict", `${workdir} has too many entries beside svc's own files`, {
      hint: "work in a subdirectory, or install bubblewrap",
    });
  }
  return rulesFor(wanted, [workdir], { abi, binder });
}

function inside(paths: readonly string[], directory: string): string[] {
  return paths.filter((path) => isWithin(path, directory));
}

/**
 * Returns the rules of a program that sees only the system's programs and these directories.
 */
export function aloneRules(
  directories: readonly SeenDirectory[],
  { abi, binder }: Pick<LandlockSurroundings, "abi" | "binder">,
): LandlockRule[] {
  const wanted = new Map<string, Allowed>();
  const lister = new Lister();
  for (const path of SYSTEM) wanted.set(realPathIfAny(path) ?? path, "run");
  wanted.set("/proc", "read");
  for (const path of DEVICES) wanted.set(path, "device");
  const required: string[] = [];
  for (const { path, writable, hidden = [] } of directories) {
    const seen = lister.without(path, hidden);
    for (const each of seen) wanted.set(each, writable ? "write" : "run");
    if (seen[0] !== path) wanted.set(path, "look");
    required.push(path);
  }
  return rulesFor(wanted, required, { abi, binder });
}

function rulesFor(
  wanted: ReadonlyMap<string, Allowed>,
  required: readonly string[],
  { abi, binder }: Pick<LandlockSurroundings, "abi" | "binder">,
): LandlockRule[] {
  const paths = [...wanted.keys()];
  const kinds = binder.kinds(paths);
  return paths.flatMap((path, n): LandlockRule[] => {
    const kind = kinds[n];
    const must = required.includes(path);
    if (kind === undefined && !must) return [];
    const rights = rightsOf(wanted.get(path)!, kind ?? "directory", abi);
    return rights === 0 ? [] : [{ path, rights, required: must }];
  });
}

class Lister {
  #left = LISTED_MAX;

  /** Returns a directory; with hidden paths inside, what else is in it, without links. */
  without(path: string, hidden: readonly string[]): string[] {
    if (hidden.some((each) => isWithin(path, each))) return [];
    const below = inside(hidden, path);
    if (below.length === 0) return [path];
    const above = path === "/" ? "" : path;
    return readDirIfAllowed(path).flatMap(({ name, isSymlink }) =>
      isSymlink || this.#left-- <= 0 ? [] : this.without(`${above}/${name}`, below)
    );
  }
}
