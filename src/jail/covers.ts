/** Limits the number of covers in a command's file system. */
import { SvcError } from "../protocol/errors.ts";
import { isWithin } from "../os/paths.ts";

/** A path that is hidden by a mount over it. */
export interface Cover {
  path: string;
  is_directory: boolean;
}

/** bwrap accepts 9,000 arguments: two for each cover, two more for a directory above it. */
const MAX = 1_500;

/**
 * Returns the covers or, if there are too many, fewer that hide more: a directory is hidden instead
 * of the paths in it, starting with the directories that contain the most.
 *
 * @param root is never hidden itself
 * @throws {SvcError} conflict when too many are directly in the root
 */
export function fewer(covers: readonly Cover[], root: string, max = MAX): Cover[] {
  let left = [...covers];
  while (left.length > max) {
    const above = new Map<string, number>();
    for (const { path } of left) {
      const up = path.slice(0, path.lastIndexOf("/")) || "/";
      if (up !== root) above.set(up, (above.get(up) ?? 0) + 1);
    }
    const [most] = [...above].sort(([a, n], [b, m]) => m - n || b.length - a.length);
    if (most === undefined) {
      throw new SvcError("conflict", `${left.length} directories in ${root} belong to sessions`, {
        hint: `end some of them, or work in a subdirectory; a command can hide at most ${max}`,
      });
    }
    const [directory] = most;
    left = left.filter(({ path }) => !isWithin(path, directory));
    left.push({ path: directory, is_directory: true });
  }
  return left;
}
