import type { AddedDirectory } from "../protocol/added_directory.ts";
import { isWithin } from "../os/paths.ts";

/** Reports whether a path is what it was when a person allowed it. */
export function isStill(path: string, { files = false } = {}): boolean {
  try {
    const { isDirectory, isFile } = Deno.statSync(path);
    return (isDirectory || files && isFile) && Deno.realPathSync(path) === path;
  } catch {
    return false;
  }
}

/**
 * Returns the added directories that tools may use now: those that are still where they were added,
 * and neither in nor around the session's own directory, which may have moved.
 */
export function usableAdded(
  added: readonly AddedDirectory[] | undefined,
  workdir: string,
): AddedDirectory[] {
  return (added ?? []).filter(({ path }) =>
    !isWithin(path, workdir) && !isWithin(workdir, path) && isStill(path)
  );
}
