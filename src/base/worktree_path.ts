import { basename, dirname, join } from "@std/path";

/** `<repo>/.svc/worktrees/<name>` */
export function worktreePath(repo: string, name: string): string {
  return join(repo, ".svc", "worktrees", name);
}

/** The repository and name of a worktree; undefined for other directories. */
export function worktreeAt(path: string): { repo: string; name: string } | undefined {
  const name = basename(path);
  const repo = dirname(dirname(dirname(path)));
  return path === worktreePath(repo, name) ? { repo, name } : undefined;
}
