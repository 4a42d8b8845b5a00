import { dirname, join } from "@std/path";
import { exists } from "../os/files.ts";

/** Returns the nearest directory above a working directory that may be the top of a checkout. */
export function checkoutAbove(workdir: string): string | undefined {
  for (let at = workdir; at !== dirname(at); at = dirname(at)) {
    if (exists(join(at, ".git"))) return at === workdir ? undefined : at;
  }
  return undefined;
}
