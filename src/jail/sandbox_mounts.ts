/**
 * Builds the file system of a command under bubblewrap: the system's directories read-only, the
 * workdir, and nothing else. People's own files lie outside of these directories, so hiding them
 * costs nothing, however many there are; only hidden paths inside visible directories need covers.
 */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import { recent } from "../base/recent.ts";
import type { Binder } from "./binder.ts";
import { CACHE_DIR } from "./command_space.ts";
import { type Cover, directoriesAbove, fewer, outermost, parent } from "./covers.ts";
import { type GitAround, gitMounts, seenAround } from "./git_around.ts";
import { gitParts } from "./git_parts.ts";
import { readOnlyIn } from "./later_files.ts";
import type { SandboxScope } from "./sandbox.ts";
import { CACHES, realDirectory } from "./toolchains.ts";

/** What commands can and cannot see of a machine. All paths are absolute and real. */
export interface Surroundings {
  /** Directories of people's own files, hidden even inside visible directories. */
  personal: readonly string[];
  /** Returns the entries of `/`. */
  root(): Root;
  /** Parts of the system in otherwise hidden directories. */
  parts: readonly string[];
  /**
   * People's own programs and libraries, directories and files, which are visible although they lie
   * in hidden directories.
   */
  programs: readonly string[];
  /** The home directory of commands. */
  home: string;
  /** Directories that each command gets empty and for itself. */
  scratch(): readonly string[];
}

/** The entries of `/`, by how a command sees them. */
export interface Root {
  /** Directories of the system, read-only. Without `/dev` and `/proc`. */
  system: readonly string[];
  /** Other directories, which a command sees empty. */
  others: readonly string[];
  /** Symlinks and their targets. */
  links: readonly (readonly [name: string, target: string])[];
}

/** Directories of `/` that contain the system and no files of people. */
const SYSTEM = new Set([
  ...["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt"],
  ...["nix", "gnu", "snap", "dev", "proc"],
]);

/** Files that the system's programs need, in otherwise hidden directories. */
const SYSTEM_PARTS = [
  ...["dpkg", "rpm", "pacman", "alternatives", "ca-certificates", "ghc", "gems", "texmf"]
    .map((name) => `/var/lib/${name}`),
  // The number of processors. The rest of /sys is a dozen mounts, and each one takes time.
  "/sys/devices",
  // The program directories of NixOS and of Homebrew.
  ...["/run/current-system", "/home/linuxbrew/.linuxbrew"],
];

/** Directories that each command gets newly made. */
const MADE_ANEW = new Set(["dev", "proc"]);

/** The directory of temporary files, which a session keeps from one command to the next. */
const TMP = "/tmp";

/** Directories that each command gets empty and for itself, beside its home directory. */
const SCRATCH = [TMP, "/var/tmp", "/run"];
/** How long directories that no session can write are not checked again. */
const RECENT_MS = 1_000;

/**
 * How many covers are sealed, so that a write to a hidden path fails rather than vanishes. Sealing
 * one takes time proportional to the number of mounts so far.
 */
const SEALED = 64;

/** Returns the {@linkcode Surroundings.parts} of this machine. */
export function systemParts(): string[] {
  return SYSTEM_PARTS.filter((path) => realDirectory(path) !== undefined);
}

/** Reports whether commands can see a real path because it is a part of the system. */
export function isSystem(path: string): boolean {
  return SYSTEM.has(path.split("/", 2)[1]) || SYSTEM_PARTS.some((part) => isWithin(path, part));
}

/**
 * Builds the command's file system: an empty root with the system's directories, read-only; covers
 * over people's files in them; over that the workdir; over that the covers inside it. A cover takes
 * time proportional to the number of all mounts, so only what is needed is bound.
 *
 * @param git the repository that the workdir belongs to, where that lies outside
 * @param holds takes up the placeholders that have to be let go when the command has ended
 * @returns arguments for bwrap. They describe what exists now, so use them for one command only.
 * @throws {Error} when too much would have to be hidden inside the workdir
 */
export function mounts(
  scope: SandboxScope,
  { personal, parts, programs, home, root, scratch: scratchNow }: Surroundings,
  binder: Binder,
  { git, holds }: { git: GitAround | undefined; holds: string[] },
): Argument[] {
  const { workdir } = scope;
  const scratch = scratchNow();
  const mode = scope.read_only || scope.git_tree !== undefined ? "ro" : undefined;
  const hidden = scope.hidden.filter((path) => path !== workdir && !carriesSystem(path));
  const existing = (paths: readonly string[]) => {
    const found = outermost(paths);
    const kinds = binder.kinds(found);
    return found.flatMap((path, n): Cover[] =>
      kinds[n] === undefined ? [] : [{ path, is_directory: kinds[n] === "directory" }]
    );
  };
  const isInside = (path: string) =>
    isWithin(path, workdir) &&
    // For a session at "/", everything is inside; directories of people are covered as a whole.
    !(workdir === "/" && personal.some((each) => isWithin(path, each)));
  const inside = fewer(existing(hidden.filter(isInside)), workdir);
  const { caches } = scope.space ?? {};
  const own_caches = ownCaches(scope, home);
  const shown = shownPrograms(scope, programs)
    .filter((path) => !own_caches.has(path) && binder.isThere(path));
  const own_tmp = ownTmp(scope, [...seenAround(git), ...programs], scratch, binder);
  const whole = workdir === "/";
  const { system, others, links } = whole ? { system: [], others: [], links: [] } : root();
  const isCovered = (path: string) => others.some((each) => isWithin(path, each));
  const beside = fewer(
    existing([...hidden.filter((path) => !isWithin(path, workdir)), ...personal]
      .filter((path) => !isCovered(path) && !scratch.includes(path))),
    "/",
  );
  const around = git?.shown;
  const inAround = (path: string) =>
    around !== undefined && isWithin(path, around) && !isWithin(path, workdir);
  const all_sockets = binder.sockets();
  const sockets = all_sockets.filter((path) =>
    !isWithin(path, workdir) &&
    !inAround(path) &&
    (!(isCovered(path) || beside.some((each) => isWithin(path, each.path))) ||
      shown.some((each) => isWithin(path, each))) &&
    isSocket(path)
  );
  const not_around = around === undefined ? [] : fewer(
    existing([...hidden, ...scope.checkout!.hidden, ...personal].filter(inAround)),
    around,
  );
  const directories = [...beside, ...not_around].filter((each) => each.is_directory);
  const sealed = new Set(
    [...directories, ...inside.filter((each) => each.is_directory)].slice(0, SEALED),
  );
  return [
    // Root can have a session at "/"; bound later, it would cover /dev and /proc again.
    ...(whole ? [scope.read_only ? "--ro-bind" : "--bind", "/", "/"] : []),
    ...system.flatMap((path) => ["--ro-bind", path, path]),
    ...links.flatMap(([name, target]) => ["--symlink", target, name]),
    ...others.flatMap((path) => ["--dir", path]),
    ...["--dev", "/dev", "--proc", "/proc"],
    // For root without a user namespace these would stay writable, regardless of capabilities.
    ...["/proc/sys", "/proc/sysrq-trigger"].flatMap((path) => ["--ro-bind-try", path, path]),
    ...beside.flatMap(cover),
    ...scratch.flatMap((path) =>
      path === TMP && own_tmp !== undefined ? own_tmp : ["--tmpfs", path]
    ),
    ...(whole || caches === undefined ? [] : binder.bind(caches, undefined, CACHE_DIR)),
    ...(isCovered("/var") ? ["--symlink", "/run", "/var/run"] : []),
    ...[...parts, ...resolver(scope)].filter(isCovered)
      .flatMap((path) => ["--ro-bind", path, path]),
    ...shown.flatMap((path) => binder.bind(path, "ro")),
    ...sockets.flatMap(cutOff),
    ...(around === undefined ? [] : binder.bind(around, "ro")),
    ...not_around.flatMap(cover),
    ...all_sockets.filter((path) => inAround(path) && isSocket(path)).flatMap(cutOff),
    ...(whole ? [] : binder.bind(workdir, mode)),
    ...(git === undefined ? [] : gitMounts(git, scope, binder, holds)),
    ...directoriesAbove(inside, workdir).flatMap((path) => binder.bind(path, mode)),
    ...treeOf(scope, binder, holds),
    ...(scope.git || mode === "ro" ? [] : readOnlyIn(workdir, {
      home,
      programs,
      hidden,
      binder,
      git_read_only: scope.background,
      holds,
    })),
    // After all that has mount points in them, as creating those writes into them, and before the
    // covers inside, of which there may be a thousand.
    ...directories.filter((each) => sealed.has(each)).flatMap(seal),
    ...(whole ? [] : ["--remount-ro", "/"]),
    ...inside.flatMap((each) => sealed.has(each) ? [...cover(each), ...seal(each)] : cover(each)),
  ];
}

/**
 * Returns arguments for bwrap that mount what the session's commands keep as `/tmp`, with mount
 * points for everything that a command may see inside it.
 *
 * bwrap follows a symlink that a command left in place of a mount point. So svc makes the mount
 * points itself, following none, and mounts each one and the directories above it onto themselves:
 * what is mounted cannot be moved or removed by a command that is still running. For that to hold,
 * all commands of a session have the same mount points, whatever of it exists at the time.
 *
 * @returns undefined when the session keeps nothing, or works in `/tmp` itself
 */
function ownTmp(
  { workdir, space }: SandboxScope,
  others: readonly string[],
  scratch: readonly string[],
  binder: Binder,
): Argument[] | undefined {
  if (space === undefined || workdir === TMP || !scratch.includes(TMP)) return undefined;
  const { tmp } = space;
  const inner = scratch.filter((path) => path !== TMP && isWithin(path, TMP));
  const inside = [workdir, ...others].filter((path) =>
    isWithin(path, TMP) && !inner.some((each) => isWithin(path, each))
  );
  const places = new Set<string>();
  for (const path of [...inner, ...inside]) {
    const at = path.slice(TMP.length + 1);
    binder.makePlace(tmp, at, binder.kind(path) ?? "directory");
    for (let up = `/${at}`; up !== "/"; up = parent(up)) places.add(up);
  }
  const outside_in = [...places].sort((a, b) => a.length - b.length);
  return [
    ...binder.bind(tmp, undefined, TMP),
    ...outside_in.flatMap((at) => binder.bind(`${tmp}${at}`, undefined, `${TMP}${at}`)),
  ];
}

/**
 * Returns the person's caches that a command does not see because it fills its own. Without network
 * it could not, and reads the person's.
 */
function ownCaches(scope: SandboxScope, home: string): ReadonlySet<string> {
  const { space } = scope;
  const own = (scope.network || scope.proxy !== undefined) && space?.caches !== undefined;
  return new Set(own ? CACHES.map((name) => join(home, name)) : []);
}

/** No mount makes a socket read-only. */
function cutOff(socket: string): string[] {
  return ["--ro-bind-try", "/dev/null", socket];
}

function isSocket(path: string): boolean {
  try {
    return Deno.lstatSync(path).isSocket === true;
  } catch {
    return false;
  }
}

function seal({ path }: Cover): string[] {
  return ["--remount-ro", path];
}

function cover({ path, is_directory }: Cover): string[] {
  return is_directory ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}

/**
 * Reads the entries of `/`.
 *
 * @returns a function that returns them, and reads them again when `/` has changed
 */
export function rootOf(): () => Root {
  let seen: { changed: number | undefined; found: Root } | undefined;
  return () => {
    const changed = Deno.statSync("/").mtime?.getTime();
    if (seen === undefined || seen.changed !== changed) seen = { changed, found: listRoot() };
    return seen.found;
  };
}

/** Returns the directories whose files a command may have in memory. */
export function inMemory(
  { space }: Pick<SandboxScope, "space">,
  { scratch }: Pick<Surroundings, "scratch">,
): string[] {
  // Shared memory of programs is in /dev/shm.
  return ["/dev", ...scratch().filter((path) => path !== TMP || space === undefined)];
}

/** What tells the {@linkcode Surroundings.scratch} of commands with a home directory. */
export function scratchOf(home: string): () => readonly string[] {
  const all = [...SCRATCH, home];
  return recent(RECENT_MS, () => all.filter((path) => realDirectory(path) === path));
}

function listRoot(): Root {
  const entries = [...Deno.readDirSync("/")];
  const directories = entries.filter((each) => each.isDirectory).map(({ name }) => name);
  return {
    system: directories.filter((name) => SYSTEM.has(name) && !MADE_ANEW.has(name)).map(inRoot),
    others: directories.filter((name) => !SYSTEM.has(name)).map(inRoot),
    links: entries.filter((each) => each.isSymlink)
      .map(({ name }) => [inRoot(name), Deno.readLinkSync(inRoot(name))]),
  };
}

function inRoot(name: string): string {
  return `/${name}`;
}

/** Returns the programs that a command sees, except those in or around its hidden paths. */
export function shownPrograms(
  { workdir, hidden }: SandboxScope,
  programs: readonly string[],
): string[] {
  // Of those in the workdir one stands for all, as no program that is shown lies in there.
  const inside = hidden.find((path) => isWithin(path, workdir));
  const near = hidden.filter((path) => path === inside || !isWithin(path, workdir));
  return programs.filter((path) =>
    !isWithin(path, workdir) &&
    !near.some((each) => isWithin(each, path) || isWithin(path, each))
  );
}

/** Returns what a git that inspects a working tree may write. */
function treeOf(
  { workdir, git_tree }: SandboxScope,
  binder: Binder,
  holds: string[],
): Argument[] {
  if (git_tree === undefined) return [];
  return [
    ...gitParts(join(workdir, ".git"), binder, holds),
    ...(git_tree === workdir ? [] : binder.bind(git_tree)),
  ];
}

/** Returns the files for name resolution, if they are kept among the sockets of programs. */
function resolver({ network }: SandboxScope): string[] {
  if (!network) return [];
  try {
    return [Deno.realPathSync("/etc/resolv.conf")];
  } catch {
    return [];
  }
}

/**
 * Returns directories with people's files and the sockets of running programs; some may be in
 * others.
 */
export function personalDirectories(environment: Record<string, string>): string[] {
  const { HOME, TMPDIR, XDG_RUNTIME_DIR } = environment;
  const named = [...SCRATCH, "/home", "/root", HOME, TMPDIR, XDG_RUNTIME_DIR];
  const found = named.map(realDirectory).filter((path) => path !== undefined);
  return [...new Set(found)].filter((path) => !carriesSystem(path));
}

/** A directory that every command needs is not hidden, even if a session uses it as workdir. */
function carriesSystem(path: string): boolean {
  return ["/usr", "/etc", "/bin", "/lib", "/dev", "/proc"].some((needed) => isWithin(needed, path));
}
