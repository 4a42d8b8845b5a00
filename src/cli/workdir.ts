import { isAbsolute, join } from "@std/path";

/** The directory a command line argument means: relative ones start where the person stands. */
export function absolute(path: string): string {
  if (isAbsolute(path)) return path;
  // cwd-ok: an argument of the command line is relative to the person's own directory
  return join(Deno.cwd(), path);
}
