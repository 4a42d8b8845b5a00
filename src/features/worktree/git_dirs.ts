import { basename, dirname, join } from "@std/path";
import { RootedError } from "../../jail/rooted.ts";
import { exists } from "../../os/files.ts";
import { readUntrusted } from "../../jail/untrusted_files.ts";
import type { Repo } from "./git.ts";

/** Returns the git directory of a worktree: the one whose `gitdir` file names its path. */
export function gitDirOf(repo: Repo, path: string): string | undefined {
  return gitDirs(repo).get(path);
}

/** More than any path, in bytes. */
export const LINK_MAX = 8 * 1024;

/**
 * Returns git's directories by worktree path. Skips one whose files a command has replaced; git
 * does not recognize it either.
 */
export function gitDirs({ root, git_dir }: Repo): Map<string, string> {
  const found = new Map<string, string>();
  const dirs = join(git_dir, "worktrees");
  if (!exists(dirs)) return found;
  readUntrusted(root, (files) => {
    for (const name of unlessRefused(() => files.names(dirs)) ?? []) {
      const link = join(dirs, name, "gitdir");
      const said = unlessRefused(() => files.text(link, LINK_MAX))?.trimEnd();
      if (said === undefined || basename(said) !== ".git") continue;
      const path = dirname(said);
      if (!found.has(path)) found.set(path, join(dirs, name));
    }
  });
  return found;
}

/** Returns the result of `look`; undefined for a file that must not be read. */
export function unlessRefused<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof RootedError) return undefined;
    throw error;
  }
}
