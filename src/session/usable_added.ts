import type { AddedDirectory } from "../protocol/added_directory.ts";
import { isWithin } from "../os/paths.ts";

/**
 * Returns the added directories that tools may use now: those that are still where they were added,
 * and neither in nor around the session's own directory, which may have moved.
 */
export function usableAdded(
  added: readonly AddedDirectory[] | undefined,
  workdir: string,
): AddedDirectory[] {
  return (added ?? []).filter(({ path }) => {
    if (isWithin(path, workdir) || isWithin(workdir, path)) return false;
    try {
      return Deno.realPathSync(path) === path && Deno.statSync(path).isDirectory;
    } catch {
      return false;
    }
  });
}
