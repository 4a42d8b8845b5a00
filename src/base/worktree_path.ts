import { basename, dirname, join } from "@std/path";

/** The directory of a repository's worktree: `<repo>/.svc/worktrees/<name>`. */
export function worktreePath(repo: string, name: string): string {
  return join(repo, ".svc", "worktrees", name);
}

/** The repository and the name of the worktree in a directory; undefined for any other directory. */
export function worktreeAt(path: string): { repo: string; name: string } | undefined {
  const name = basename(path);
  const repo = dirname(dirname(dirname(path)));
  return path === worktreePath(repo, name) ? { repo, name } : undefined;
}
