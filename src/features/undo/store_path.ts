import { dirname, join } from "@std/path";

/** Returns the path of a session's store: beside its journal. */
export function storePath({ path }: { path: string }): string {
  return join(dirname(path), "files.git");
}
