import { isAbsolute, join } from "@std/path";
import { type AddDirectory, parseAddDirectory } from "../protocol/added_directory.ts";

/** Reads `DIR` or `DIR:ro` of the command line. */
export function addedFrom(flags: readonly string[]): AddDirectory[] | undefined {
  if (flags.length === 0) return undefined;
  return flags.map(parseAddDirectory).map((it) => ({ ...it, path: absolute(it.path) }));
}

/** Resolves a directory from the command line, relative to the person's directory. */
export function absolute(path: string): string {
  if (isAbsolute(path)) return path;
  // cwd-ok: an argument of the command line is relative to the person's own directory
  return join(Deno.cwd(), path);
}
