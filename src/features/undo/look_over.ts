/** Sees in a few milliseconds that a small directory is unchanged, without git. */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { exactFiles } from "../../jail/rooted_exact.ts";

export interface Look {
  /** Differs as soon as any file or directory differs. */
  print: string;
  /** The newest change, in milliseconds since 1970. */
  newest_ms: number;
}

/** Larger directories are left to git. */
const ENTRIES_MAX = 1_000;
/** Two changes of a file within one clock tick, at most 10 ms, look the same. */
const TICK_MS = 12;
/** Not in any state. */
export const SKIPPED = new Set([".git", ".svc"]);

/**
 * Looks at every entry of a directory, at any depth, without following links.
 * @param workdir its absolute real path
 * @returns undefined for too many entries, or if some cannot be seen
 */
export function lookOver(workdir: string): Look | undefined {
  const hash = createHash("sha256");
  const files = exactFiles(workdir, []);
  let newest_ms = 0;
  let entries = 0;
  try {
    const directories = [""];
    for (
      let directory = directories.pop();
      directory !== undefined;
      directory = directories.pop()
    ) {
      const paths: string[] = [];
      for (const { name } of Deno.readDirSync(join(workdir, directory))) {
        if (SKIPPED.has(name)) continue;
        if (++entries > ENTRIES_MAX) return undefined;
        paths.push(directory === "" ? name : `${directory}/${name}`);
      }
      paths.sort();
      const looked = files.look(paths);
      for (let n = 0; n < paths.length; n++) {
        const file = looked[n];
        // It was removed meanwhile, or its name is not UTF-8.
        if (file === undefined) return undefined;
        newest_ms = Math.max(newest_ms, file.changed_ms);
        if (file.kind === "directory") directories.push(paths[n]);
        hash.update(`${paths[n]}\0${file.version}\0`);
      }
    }
  } catch {
    // Git explains the problem.
    return undefined;
  }
  return { print: hash.digest("base64"), newest_ms };
}

/** Reports whether files read after `read_from_ms`, in milliseconds since 1970, match the look. */
export function isSettled({ newest_ms }: Look, read_from_ms: number): boolean {
  return newest_ms + TICK_MS < read_from_ms;
}
