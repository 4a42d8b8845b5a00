import { dirname, join } from "@std/path";

/** Returns where the states of a session's files are kept: beside its journal. */
export function storePath({ path }: { path: string }): string {
  return join(dirname(path), "files.git");
}
