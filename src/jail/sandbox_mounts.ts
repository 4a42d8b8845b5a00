/**
 * What a command under bubblewrap sees of the file system: the system's own directories to read, the
 * workdir, and nothing else. What belongs to people is out of sight by where it lies, so that it costs
 * nothing how much there is of it; only what lies inside of what is seen needs a cover of its own.
 */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import { worktreeAt } from "../base/worktree_path.ts";
import type { Binder } from "./binder.ts";
import { type Cover, fewer } from "./covers.ts";
import { gitParts, readOnlyIn } from "./later_files.ts";
import type { SandboxScope } from "./sandbox.ts";
import { realDirectory } from "./toolchains.ts";

/** What of a machine commands see and do not see. All paths are absolute real ones. */
export interface Surroundings {
  /** Where people keep their own files, whatever is seen around it. */
  personal: readonly string[];
  /** What `/` is made of. */
  root(): Root;
  /** Parts of the system in directories that are otherwise out of sight. */
  parts: readonly string[];
  /** Programs and libraries of people's, which are seen although they lie out of sight. */
  programs: readonly string[];
  /** The home directory of commands. */
  home: string;
}

/** What is in `/`, by what a command gets for it. */
export interface Root {
  /** Directories of the system, to read. `/dev` and `/proc` are not among them. */
  system: readonly string[];
  /** Other directories, which are empty for a command. */
  others: readonly string[];
  /** Symlinks and what they say. */
  links: readonly (readonly [name: string, target: string])[];
}

/** Directories of `/` that hold the system and nothing of people's. */
const SYSTEM = new Set([
  ...["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "opt"],
  ...["nix", "gnu", "snap", "dev", "proc"],
]);

/** What programs of the system work with, in directories that are otherwise out of sight. */
const SYSTEM_PARTS = [
  ...["dpkg", "apt", "rpm", "pacman", "alternatives", "ca-certificates", "ghc", "gems", "texmf"]
    .map((name) => `/var/lib/${name}`),
  "/var/cache/fontconfig",
  // How many processors there are. The rest of /sys is a dozen mounts, each of which takes time.
  "/sys/devices",
  // NixOS keeps its programs under the first, Homebrew under the second.
  ...["/run/current-system", "/home/linuxbrew/.linuxbrew"],
];

/** Directories of the system that a command has its own of. */
const MADE_ANEW = new Set(["dev", "proc"]);

/** Directories that commands have to themselves, empty, for as long as they run. */
const SCRATCH = ["/tmp", "/var/tmp", "/run"];

/**
 * Covers that are sealed, so that a write to what is hidden fails rather than vanishes: the first
 * ones. To seal one costs time that grows with the number of all mounts.
 */
const SEALED = 64;

/** The {@linkcode Surroundings.parts} of this machine. */
export function systemParts(): string[] {
  return SYSTEM_PARTS.filter((path) => realDirectory(path) !== undefined);
}

/** Whether commands see a real path because it is a part of the system. */
export function isSystem(path: string): boolean {
  return SYSTEM.has(path.split("/", 2)[1]) || SYSTEM_PARTS.some((part) => isWithin(path, part));
}

/**
 * Lays the command's file system: an empty root with the system's directories in it, read-only, covers
 * over what is not the system's there, over that the workdir, over that what hides things inside it.
 * A cover costs time that grows with all mounts, so what need not be there is not bound at all.
 *
 * @returns arguments of bwrap. They fit what exists now, so they are for one command only.
 * @throws {Error} when too much would have to be hidden inside the workdir.
 */
export function mounts(
  scope: SandboxScope,
  { personal, parts, programs, home, root }: Surroundings,
  binder: Binder,
): Argument[] {
  const { workdir } = scope;
  const mode = scope.read_only || scope.git_tree !== undefined ? "ro" : undefined;
  const hidden = scope.hidden.filter((path) => path !== workdir && !carriesSystem(path));
  const existing = (paths: readonly string[]) =>
    outermost(paths).flatMap((path): Cover[] => {
      const kind = binder.kind(path);
      return kind === undefined ? [] : [{ path, is_directory: kind === "directory" }];
    });
  const isInside = (path: string) =>
    isWithin(path, workdir) &&
    // All of a session at "/" is inside; what is personal is covered whole.
    !(workdir === "/" && personal.some((each) => isWithin(path, each)));
  const inside = fewer(existing(hidden.filter(isInside)), workdir);
  const shown = shownPrograms(scope, programs).filter((path) => binder.isThere(path));
  const whole = workdir === "/";
  const { system, others, links } = whole ? { system: [], others: [], links: [] } : root();
  const isCovered = (path: string) => others.some((each) => isWithin(path, each));
  const scratch = [...SCRATCH, home].filter((path) => realDirectory(path) === path);
  const beside = fewer(
    existing([...hidden.filter((path) => !isWithin(path, workdir)), ...personal]
      .filter((path) => !isCovered(path) && !scratch.includes(path))),
    "/",
  );
  const sockets = binder.sockets().filter((path) =>
    !isWithin(path, workdir) &&
    (!(isCovered(path) || beside.some((each) => isWithin(path, each.path))) ||
      shown.some((each) => isWithin(path, each))) &&
    isSocket(path)
  );
  const sealed = [...beside, ...inside].filter((each) => each.is_directory).slice(0, SEALED);
  return [
    // A session at "/" is possible for root; bound later, it would cover /dev and /proc again.
    ...(whole ? [scope.read_only ? "--ro-bind" : "--bind", "/", "/"] : []),
    ...system.flatMap((path) => ["--ro-bind", path, path]),
    ...links.flatMap(([name, target]) => ["--symlink", target, name]),
    ...others.flatMap((path) => ["--dir", path]),
    ...["--dev", "/dev", "--proc", "/proc"],
    // For root without a user namespace these stay writable, whatever its capabilities.
    ...["/proc/sys", "/proc/sysrq-trigger"].flatMap((path) => ["--ro-bind-try", path, path]),
    ...beside.flatMap(cover),
    ...scratch.flatMap((path) => ["--tmpfs", path]),
    ...(isCovered("/var") ? ["--symlink", "/run", "/var/run"] : []),
    ...[...parts, ...resolver(scope)].filter(isCovered)
      .flatMap((path) => ["--ro-bind", path, path]),
    ...shown.flatMap((path) => binder.bind(path, "ro")),
    ...sockets.flatMap((path) => ["--ro-bind-try", "/dev/null", path]),
    ...(whole ? [] : binder.bind(workdir, mode)),
    ...repositoryOf(workdir, binder).flatMap((path) => binder.bind(path, "ro")),
    ...directoriesAbove(inside, workdir).flatMap((path) => binder.bind(path, mode)),
    ...treeOf(scope, binder),
    ...(scope.git || mode === "ro" ? [] : readOnlyIn(workdir, { home, programs, binder })),
    ...inside.flatMap(cover),
    // Last: mount points are made.
    ...sealed.flatMap(({ path }) => ["--remount-ro", path]),
    ...(whole ? [] : ["--remount-ro", "/"]),
  ];
}

function isSocket(path: string): boolean {
  try {
    return Deno.lstatSync(path).isSocket === true;
  } catch {
    return false;
  }
}

function cover({ path, is_directory }: Cover): string[] {
  return is_directory ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}

/**
 * Looks at `/`.
 *
 * @returns what lists it, anew when it has changed.
 */
export function rootOf(): () => Root {
  let seen: { changed: number | undefined; found: Root } | undefined;
  return () => {
    const changed = Deno.statSync("/").mtime?.getTime();
    if (seen === undefined || seen.changed !== changed) seen = { changed, found: listRoot() };
    return seen.found;
  };
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

/** The programs that a command sees: none that lie in what is hidden from it, or around that. */
export function shownPrograms(
  { workdir, hidden }: SandboxScope,
  programs: readonly string[],
): string[] {
  return programs.filter((path) =>
    !isWithin(path, workdir) &&
    !hidden.some((each) => isWithin(each, path) || isWithin(path, each))
  );
}

/**
 * The directories between the workdir and what is hidden in it. A mount point cannot be renamed,
 * but the directories above it can: a command that moved one of them would find the hidden path in
 * sight the next time. Bound to itself, each is a mount point too.
 */
function directoriesAbove(hidden: readonly Cover[], workdir: string): string[] {
  const above = new Set<string>();
  for (const { path } of hidden) {
    for (let up = parent(path); up !== workdir && up !== "/"; up = parent(up)) above.add(up);
  }
  return [...above].sort((a, b) => a.length - b.length);
}

/**
 * What git reads of the repository that a worktree belongs to, outside of the workdir. Only to read:
 * its hooks and its configuration are run by whoever works in it next, its branches are others'. It
 * is found by where the worktree lies, never by the `.git` file in it, which a command may rewrite.
 */
function repositoryOf(workdir: string, binder: Binder): string[] {
  const at = worktreeAt(workdir);
  if (at === undefined) return [];
  const git_dir = join(at.repo, ".git");
  return binder.kind(git_dir) === "directory" ? [git_dir] : [];
}

/** What a git may write that looks at a working tree. */
function treeOf({ workdir, git_tree }: SandboxScope, binder: Binder): Argument[] {
  if (git_tree === undefined) return [];
  return [...gitParts(workdir, binder), ...(git_tree === workdir ? [] : binder.bind(git_tree))];
}

/** Where names of machines are looked up, where that is kept among the sockets of programs. */
function resolver({ network }: SandboxScope): string[] {
  if (!network) return [];
  try {
    return [Deno.realPathSync("/etc/resolv.conf")];
  } catch {
    return [];
  }
}

/** Directories that hold people's files and the sockets of running programs. */
export function personalDirectories(environment: Record<string, string>): string[] {
  const { HOME, TMPDIR, XDG_RUNTIME_DIR } = environment;
  const found = ["/tmp", "/var/tmp", "/run", "/home", "/root", HOME, TMPDIR, XDG_RUNTIME_DIR]
    .map(realDirectory)
    .filter((path) => path !== undefined && !carriesSystem(path));
  return outermost(found as string[]);
}

/** A directory that no command works without is not hidden, even if a session has it as workdir. */
function carriesSystem(path: string): boolean {
  return ["/usr", "/etc", "/bin", "/lib", "/dev", "/proc"].some((needed) => isWithin(needed, path));
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
