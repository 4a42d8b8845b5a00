/** Where programs are. */
import { isAbsolute, join } from "@std/path";

const SEPARATOR = Deno.build.os === "windows" ? ";" : ":";

/** The directories of a PATH, in its order; relative ones are left out. */
export function pathDirs(path = ""): string[] {
  return path.split(SEPARATOR).filter(isAbsolute);
}

/** The first of some paths where there is a file; undefined where there is none. */
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
 * Where a program is; undefined where there is none.
 *
 * @param program its name, or its absolute path.
 * @param path the PATH that a name is looked for on.
 */
export function which(program: string, path?: string): string | undefined {
  if (isAbsolute(program)) return firstFile([program]);
  return firstFile(pathDirs(path).map((dir) => join(dir, program)));
}
