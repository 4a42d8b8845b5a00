/**
 * Builds the file system of a command under bubblewrap: the system's directories read-only, and the
 * workdir. Most of people's files are outside of these, so hiding them costs nothing; only hidden
 * paths inside visible directories need covers.
 */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import { recent } from "../base/recent.ts";
import { addedMounts } from "./added_directories.ts";
import type { Binder } from "./binder.ts";
import { CACHE_DIR } from "./command_space.ts";
import { type Cover, directoriesAbove, fewer, outermost, parent } from "./covers.ts";
import { type GitAround, gitMounts, seenAround } from "./git_around.ts";
import { gitParts } from "./git_parts.ts";
import { readOnlyIn } from "./later_files.ts";
import type { SandboxScope } from "./sandbox.ts";
import { realDirectory, REPLACED } from "./toolchains.ts";

/** What commands see of a machine. All paths are absolute and real. */
export interface Surroundings {
  /** People's own files, hidden even inside visible directories. */
  personal: readonly string[];
  root(): Root;
  /** Parts of the system in otherwise hidden directories. */
  parts: readonly string[];
  /** People's own programs and libraries, visible although they are in hidden directories. */
  programs: readonly string[];
  /** Of commands. */
  home: string;
  /** Directories that each command gets empty and for itself. */
  scratch(): readonly string[];
}

export interface Root {
  /** Read-only directories of the system, without `/dev` and `/proc`. */
  system: readonly string[];
  /** Shown empty. */
  others: readonly string[];
  links: readonly (readonly [name: string, target: string])[];
}

/** Contain the system and no files of people. */
const SYSTEM = new Set([
  ...["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt"],
  ...["nix", "gnu", "snap", "dev", "proc"],
]);

/** Needed by the system's programs, in otherwise hidden directories. */
const SYSTEM_PARTS = [
  ...["dpkg", "rpm", "pacman", "alternatives", "ca-certificates", "ghc", "gems", "texmf"]
    .map((name) => `/var/lib/${name}`),
  // For the number of processors. The rest of /sys takes a dozen mounts, which cost time.
  "/sys/devices",
  // NixOS and Homebrew.
  ...["/run/current-system", "/home/linuxbrew/.linuxbrew"],
];

/** Made new for each command. */
const MADE_ANEW = new Set(["dev", "proc"]);

/** A session keeps it from one command to the next. */
const TMP = "/tmp";

/** Empty for each command, like its home directory. */
const SCRATCH = [TMP, "/var/tmp", "/run"];
/** Sessions cannot write these directories, so a check holds this long. */
const RECENT_MS = 1_000;

/**
 * How many covers are sealed, so that a write to a hidden path fails instead of vanishing. Sealing
 * takes time proportional to the number of mounts so far.
 */
const SEALED = 64;

/** Returns the {@linkcode Surroundings.parts} of this machine. */
export function systemParts(): string[] {
  return SYSTEM_PARTS.filter((path) => realDirectory(path) !== undefined);
}

/** Reports whether commands see a real path as a part of the system. */
export function isSystem(path: string): boolean {
  return SYSTEM.has(path.split("/", 2)[1]) || SYSTEM_PARTS.some((part) => isWithin(path, part));
}

/**
 * Builds the command's file system: the system's directories, read-only; covers over people's files
 * in them; the workdir; covers inside it. Each cover takes time proportional to the number of
 * mounts, so binds only what is needed.
 *
 * @param git the repository around or beside the workdir
 * @param holds receives the placeholders to release when the command has ended
 * @param opened arguments that mount what is granted
 * @returns bwrap arguments. Use them once: they depend on the current file system.
 * @throws {Error} when too much would have to be hidden inside the workdir
 */
export function mounts(
  scope: SandboxScope,
  { personal, parts, programs, home, root, scratch: scratchNow }: Surroundings,
  binder: Binder,
  { git, holds, opened }: { git: GitAround | undefined; holds: string[]; opened: Argument[] },
): Argument[] {
  const { workdir, added = [] } = scope;
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
    // For a session at "/", everything is inside; people's directories are covered as a whole.
    !(workdir === "/" && personal.some((each) => isWithin(path, each)));
  const inside = fewer(existing(hidden.filter(isInside)), workdir);
  const { caches } = scope.space ?? {};
  const own_caches = ownCaches(scope, home);
  const shown = shownPrograms(scope, programs)
    .filter((path) => !own_caches.has(path) && binder.isThere(path));
  const own_tmp = ownTmp(
    scope,
    [...seenAround(git), ...added.map(({ path }) => path), ...programs],
    scratch,
    binder,
  );
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
    // For a root session at "/". Later, it would cover /dev and /proc again.
    ...(whole ? [scope.read_only ? "--ro-bind" : "--bind", "/", "/"] : []),
    ...system.flatMap((path) => ["--ro-bind", path, path]),
    ...links.flatMap(([name, target]) => ["--symlink", target, name]),
    ...others.flatMap((path) => ["--dir", path]),
    ...["--dev", "/dev", "--proc", "/proc"],
    // For root without a user namespace these would stay writable, whatever its capabilities.
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
    ...addedMounts(added, {
      home,
      programs,
      binder,
      holds,
      read_only: mode === "ro",
      git_read_only: scope.background,
      sockets: all_sockets.filter(isSocket),
      covers: (paths, root) => fewer(existing(paths.filter((path) => isWithin(path, root))), root),
      cover: (each) => each.is_directory ? [...cover(each), ...seal(each)] : cover(each),
      cutOff,
    }),
    ...opened,
    // After everything with mount points inside, because making those writes into it; before the
    // covers inside, of which there may be a thousand.
    ...directories.filter((each) => sealed.has(each)).flatMap(seal),
    ...(whole ? [] : ["--remount-ro", "/"]),
    ...inside.flatMap((each) => sealed.has(each) ? [...cover(each), ...seal(each)] : cover(each)),
  ];
}

/**
 * Returns bwrap arguments that mount the session's `/tmp`, with mount points for all that a command
 * may see inside it; undefined if the session keeps nothing or works in `/tmp` itself.
 *
 * bwrap would follow a symlink that a command left in place of a mount point. So svc makes the
 * mount points itself, follows none, and mounts each one and its parents onto themselves: a running
 * command cannot move or remove a mounted directory. For this, all commands of a session have the
 * same mount points, even for what does not exist.
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
 * Returns the person's caches that a command replaces by its own. Without network it could not fill
 * its own, so it reads the person's; Maven reads both.
 */
function ownCaches(scope: SandboxScope, home: string): ReadonlySet<string> {
  const { space } = scope;
  const own = (scope.network || scope.proxy !== undefined) && space?.caches !== undefined;
  return new Set(own ? REPLACED.map((name) => join(home, name)) : []);
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

/** Returns a function that reads the entries of `/`, again only when `/` has changed. */
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
  // /dev/shm has the shared memory of programs.
  return ["/dev", ...scratch().filter((path) => path !== TMP || space === undefined)];
}

/** Returns what finds the {@linkcode Surroundings.scratch} for a home directory. */
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
  // One hidden path stands for all in the workdir, because no shown program is in there.
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

/** Name resolution, if its file is kept among the sockets of programs. */
export function resolver({ network }: Pick<SandboxScope, "network">): string[] {
  if (!network) return [];
  try {
    return [Deno.realPathSync("/etc/resolv.conf")];
  } catch {
    return [];
  }
}

/** Returns directories with people's files and programs' sockets, some inside others. */
export function personalDirectories(environment: Record<string, string>): string[] {
  const { HOME, TMPDIR, XDG_RUNTIME_DIR } = environment;
  const named = [...SCRATCH, "/home", "/root", HOME, TMPDIR, XDG_RUNTIME_DIR];
  const found = named.map(realDirectory).filter((path) => path !== undefined);
  return [...new Set(found)].filter((path) => !carriesSystem(path));
}

/** Every command needs these, so they stay visible even as a session's workdir. */
function carriesSystem(path: string): boolean {
  return ["/usr", "/etc", "/bin", "/lib", "/dev", "/proc"].some((needed) => isWithin(needed, path));
}
