import { isAbsolute, join } from "@std/path";

/** Resolves a directory from the command line, relative to the person's directory. */
export function absolute(path: string): string {
  if (isAbsolute(path)) return path;
  // cwd-ok: an argument of the command line is relative to the person's own directory
  return join(Deno.cwd(), path);
}
