import { isAbsolute, join } from "@std/path";

const SEPARATOR = Deno.build.os === "windows" ? ";" : ":";

/** Returns the directories of a PATH in order, without relative ones. */
export function pathDirs(path = ""): string[] {
  return path.split(SEPARATOR).filter(isAbsolute);
}

/** Returns the first path with a file; undefined if there is none. */
export function firstFile(paths: readonly string[]): string | undefined {
  return paths.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}

/**
 * Returns the path of a program; undefined if it is missing.
 *
 * @param program a name on `path`, the PATH, or an absolute path
 */
export function which(program: string, path?: string): string | undefined {
  if (isAbsolute(program)) return firstFile([program]);
  return firstFile(pathDirs(path).map((dir) => join(dir, program)));
}
