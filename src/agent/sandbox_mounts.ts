/** What a command under bubblewrap sees of the file system. */
import { join } from "@std/path";
import { isWithin } from "../platform/paths.ts";
import { worktreeAt } from "../platform/worktree_path.ts";
import type { SandboxScope } from "./sandbox.ts";

/** Where a person's own files lie. All are absolute real paths. */
export interface Person {
  /** What is hidden whatever else is. */
  personal: readonly string[];
  /** What is seen of that nevertheless, whether it exists or not. */
  toolchains: readonly string[];
  /** The home directory of commands. */
  home: string;
}

/**
 * Lays the command's file system: the system read-only, over it what hides things outside the
 * workdir, over that the workdir (which may lie in something hidden), over that what hides things
 * inside it.
 *
 * @returns arguments of bwrap. They say what exists now, so they are for one command only.
 */
export function mounts(scope: SandboxScope, { personal, toolchains, home }: Person): string[] {
  const { workdir } = scope;
  const hidden = scope.hidden.filter((path) => path !== workdir && !carriesSystem(path));
  const inside = existing(hidden.filter((path) => isWithin(path, workdir)));
  const outside = existing(hidden.filter((path) => !isWithin(path, workdir)), personal);
  const isPersonal = (path: string) => personal.some((directory) => isWithin(path, directory));
  const overlapsHidden = (path: string) =>
    scope.hidden.some((each) => isWithin(each, path) || isWithin(path, each));
  return [
    // A session at "/" is possible for root; bound later, it would cover /dev and /proc again.
    ...(workdir === "/" ? ["--bind", "/", "/"] : ["--ro-bind", "/", "/"]),
    ...["--dev", "/dev", "--proc", "/proc"],
    // For root without a user namespace these stay writable, whatever its capabilities.
    ...["/proc/sys", "/proc/sysrq-trigger"].flatMap(readOnly),
    ...personal.flatMap((path) => ["--tmpfs", path]),
    ...outside.flatMap(cover),
    ...(isPersonal(home) ? ["--dir", home] : []),
    ...toolchains.filter((path) => isPersonal(path) && !overlapsHidden(path)).flatMap(readOnly),
    ...neededFromRun(scope).filter(isPersonal).flatMap(readOnly),
    ...(workdir === "/" ? [] : ["--bind", workdir, workdir]),
    ...repositoryOf(workdir).flatMap(readOnly),
    ...directoriesAbove(inside, workdir).flatMap((path) => ["--bind", path, path]),
    ...inside.flatMap(cover),
    // So that a write to what is hidden fails rather than vanishes. Last: mount points are made.
    ...[...outside, ...inside].filter((each) => each.is_directory)
      .flatMap((each) => ["--remount-ro", each.path]),
  ];
}

interface HiddenPath {
  path: string;
  is_directory: boolean;
}

function cover({ path, is_directory }: HiddenPath): string[] {
  return is_directory ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}

function readOnly(path: string): string[] {
  return ["--ro-bind-try", path, path];
}

/**
 * The paths that need a cover: outermost ones that lie in none of the `covered` directories. One
 * that does not exist needs none, and bwrap would create it.
 */
function existing(paths: readonly string[], covered: readonly string[] = []): HiddenPath[] {
  const found: HiddenPath[] = [];
  for (const path of outermost(paths)) {
    if (covered.some((directory) => isWithin(path, directory))) continue;
    try {
      found.push({ path, is_directory: Deno.statSync(path).isDirectory });
    } catch {
      continue;
    }
  }
  return found;
}

/**
 * The directories between the workdir and what is hidden in it. A mount point cannot be renamed,
 * but the directories above it can: a command that moved one of them would find the hidden path in
 * sight the next time. Bound to itself, each is a mount point too.
 */
function directoriesAbove(hidden: readonly HiddenPath[], workdir: string): string[] {
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
function repositoryOf(workdir: string): string[] {
  const at = worktreeAt(workdir);
  if (at === undefined) return [];
  const git_dir = join(at.repo, ".git");
  try {
    return Deno.lstatSync(git_dir).isDirectory ? [git_dir] : [];
  } catch {
    return [];
  }
}

/** What a system does not work without, though it lies among the sockets of running programs. */
function neededFromRun(scope: SandboxScope): string[] {
  const resolver = scope.network ? realPath("/etc/resolv.conf") : undefined;
  // NixOS keeps its programs under the first.
  return ["/run/current-system", ...(resolver === undefined ? [] : [resolver])];
}

/** Directories that hold people's files and the sockets of running programs. */
export function personalDirectories(environment: Record<string, string>): string[] {
  const { HOME, TMPDIR, XDG_RUNTIME_DIR } = environment;
  const found = ["/tmp", "/var/tmp", "/run", "/home", "/root", HOME, TMPDIR, XDG_RUNTIME_DIR]
    .map(existingDirectory)
    .filter((path) => path !== undefined && !carriesSystem(path));
  return outermost(found as string[]);
}

/** A directory that no command works without is not hidden, even if a session has it as workdir. */
function carriesSystem(path: string): boolean {
  return ["/usr", "/etc", "/bin", "/lib", "/dev", "/proc"].some((needed) => isWithin(needed, path));
}

/** The real path of a directory; undefined when it is none. */
export function existingDirectory(path: string | undefined): string | undefined {
  if (path === undefined || !path.startsWith("/")) return undefined;
  const real = realPath(path);
  return real !== undefined && Deno.statSync(real).isDirectory ? real : undefined;
}

function realPath(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
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
