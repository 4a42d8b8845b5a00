/** Finds out whether the build of the web app is older than what it is made from. */
import { join } from "@std/path";

interface Build {
  /** Its last file: when that was written, it was done. */
  manifest: string;
  /** A file with the modules that it was made from: a JSON array of paths from the root. */
  modules: string;
}

/**
 * Reports whether a source is newer than the build or gone, or there is no build.
 *
 * @param sources what the build is made from beside its modules, as paths from the root
 * @throws {Error} when something cannot be read.
 */
export async function isStale(
  root: string,
  { manifest, modules }: Build,
  sources: readonly string[],
): Promise<boolean> {
  try {
    const built = (await Deno.stat(manifest)).mtime!.getTime();
    const taken: string[] = JSON.parse(await Deno.readTextFile(modules));
    for (const source of [...sources, ...taken]) {
      if (await newestIn(join(root, source)) > built) return true;
    }
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}

/** When a file, or anything in a folder, was changed last: also what was taken out of it. */
async function newestIn(path: string): Promise<number> {
  const { mtime, isDirectory } = await Deno.stat(path);
  let newest = mtime!.getTime();
  if (!isDirectory) return newest;
  for await (const { name } of Deno.readDir(path)) {
    newest = Math.max(newest, await newestIn(join(path, name)));
  }
  return newest;
}
