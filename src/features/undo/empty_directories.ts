/** Finds directories with nothing in them, which git does not store. */
import { setImmediate } from "node:timers/promises";
import { join } from "@std/path";
import { type ExactFiles, exactFiles } from "../../jail/rooted_exact.ts";
import { isNameable } from "./file_state.ts";

interface Looked {
  empty: string[];
  /** Those of the given directories with something else than directories in them. */
  filled: string[];
}

/** Directories read in one turn of the event loop. */
const READ_AT_ONCE = 200;
/** More are not looked at, nor more empty ones kept. */
const DIRECTORIES_MAX = 20_000;

/**
 * Looks through directories, at any depth, except for repositories.
 *
 * @param directories below the working directory, without a slash at the end
 * @returns undefined for too many
 */
export async function lookThrough(
  workdir: string,
  directories: readonly string[],
): Promise<Looked | undefined> {
  const empty: string[] = [];
  const filled: string[] = [];
  let read = 0;
  for (const top of directories) {
    let has_files = false;
    const left = [top];
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      if (++read > DIRECTORIES_MAX) return undefined;
      if (read % READ_AT_ONCE === 0) await setImmediate();
      const entries = entriesOf(join(workdir, at));
      if (entries === undefined || entries.some(({ name }) => name === ".git")) {
        has_files = true;
        continue;
      }
      if (entries.length === 0) empty.push(at);
      for (const { name, isDirectory } of entries) {
        const path = `${at}/${name}`;
        if (isDirectory && isNameable(path, false)) left.push(path);
        else has_files = true;
      }
    }
    if (has_files) filled.push(top);
  }
  return { empty: empty.filter((path) => isNameable(path, false)), filled };
}

/** Returns the directories that are empty since these files were removed. */
export function emptiedBy(workdir: string, removed: readonly string[]): string[] {
  const files = exactFiles(workdir, []);
  const seen = new Map<string, boolean>();
  for (const path of removed) {
    for (let cut = path.lastIndexOf("/"); cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
      const directory = path.slice(0, cut);
      if (seen.has(directory)) break;
      const is_empty = isEmpty(workdir, directory, files);
      seen.set(directory, is_empty === true);
      // Where it is missing, the one above may have become empty.
      if (is_empty !== undefined) break;
    }
  }
  return [...seen].filter(([, is_empty]) => is_empty).map(([directory]) => directory);
}

/** Reports whether a directory is empty; undefined if there is none. */
function isEmpty(workdir: string, directory: string, files: ExactFiles): boolean | undefined {
  if (files.look([directory])[0]?.kind !== "directory") return undefined;
  return entriesOf(join(workdir, directory))?.length === 0;
}

/** Returns what is in a directory; undefined if that cannot be seen. */
function entriesOf(path: string): Deno.DirEntry[] | undefined {
  try {
    return [...Deno.readDirSync(path)];
  } catch {
    return undefined;
  }
}
