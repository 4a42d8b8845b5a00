/** Sees in a few milliseconds that a small directory is as it was, so that git need not be asked. */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { exactFiles } from "../../jail/rooted_exact.ts";

/** How a directory looks. */
export interface Look {
  /** Differs once any file or directory in it differs. */
  print: string;
  /** When something in it last changed, in milliseconds since 1970. */
  newest_ms: number;
}

/** A directory with more entries is left to git. */
const ENTRIES_MAX = 1_000;
/** Two changes of a file within one tick of its clock look alike; a tick has at most 10 ms. */
const TICK_MS = 12;
/** Kept in no state. */
const SKIPPED = new Set([".git", ".svc"]);

/**
 * Looks at every entry of a directory, at any depth; symlinks are looked at as links.
 *
 * @param workdir its absolute real path
 * @returns undefined for one with too many entries, and where it cannot see everything
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
        // It has gone meanwhile, or its name is not UTF-8.
        if (file === undefined) return undefined;
        newest_ms = Math.max(newest_ms, file.changed_ms);
        if (file.kind === "directory") directories.push(paths[n]);
        hash.update(`${paths[n]}\0${file.version}\0`);
      }
    }
  } catch {
    // Git says why something cannot be read.
    return undefined;
  }
  return { print: hash.digest("base64"), newest_ms };
}

/** Whether what was read from a time on, in milliseconds since 1970, is what any equal look stands for. */
export function isSettled({ newest_ms }: Look, read_from_ms: number): boolean {
  return newest_ms + TICK_MS < read_from_ms;
}
