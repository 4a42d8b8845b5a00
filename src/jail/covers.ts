/** Limits the number of covers in a command's file system. */
import { SvcError } from "../protocol/errors.ts";

/** A path that is hidden by a mount over it. */
export interface Cover {
  path: string;
  is_directory: boolean;
}

/** bwrap accepts 9,000 arguments: two for a cover, three for a directory above it. */
const MOUNTS_MAX = 2_400;

/**
 * Returns the covers. If there are too many, hides whole directories instead of the paths in them,
 * the fullest first.
 *
 * @param root is never hidden itself
 * @param max mounts allowed for the covers and the directories above them
 * @throws {SvcError} conflict when too many are directly in the root
 */
export function fewer(covers: readonly Cover[], root: string, max = MOUNTS_MAX): Cover[] {
  let left = [...covers];
  for (;;) {
    let surplus = left.length + directoriesAbove(left, root).length - max;
    if (surplus <= 0) return left;
    const above = new Map<string, number>();
    for (const { path } of left) {
      const up = parent(path);
      if (up !== root) above.set(up, (above.get(up) ?? 0) + 1);
    }
    if (above.size === 0) {
      throw new SvcError("conflict", `${left.length} directories in ${root} belong to sessions`, {
        hint: `end some of them, or work in a subdirectory; a command can hide at most ${max}`,
      });
    }
    const most = [...above].sort(([a, n], [b, m]) => m - n || b.length - a.length);
    const hidden = new Set<string>();
    for (const [directory, count] of most) {
      if (surplus <= 0) break;
      hidden.add(directory);
      surplus -= count;
    }
    left = left.filter(({ path }) => !upFrom(path).some((up) => hidden.has(up)));
    left.push(...outermost([...hidden]).map((path) => ({ path, is_directory: true })));
  }
}

/**
 * Returns the directories between the workdir and its hidden paths. A command could rename one and
 * see the hidden path the next time, so each is bound to itself: a mount point cannot be renamed.
 */
export function directoriesAbove(hidden: readonly Cover[], workdir: string): string[] {
  const above = new Set<string>();
  for (const { path } of hidden) {
    for (const up of upFrom(path)) {
      if (up === workdir) break;
      above.add(up);
    }
  }
  return [...above].sort((a, b) => a.length - b.length);
}

/** Without the root of the file system. */
function upFrom(path: string): string[] {
  const above: string[] = [];
  for (let up = parent(path); up !== "/"; up = parent(up)) above.push(up);
  return above;
}

/** Returns the paths that are in no other of them, without duplicates. */
export function outermost(paths: readonly string[]): string[] {
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

/** Returns the directory above an absolute path. */
export function parent(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}
