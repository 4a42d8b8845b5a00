/** Repairs git's paths of worktrees after the repository was moved. */
import { basename, join } from "@std/path";
import { worktreeAt, worktreePath } from "../../base/worktree_path.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { readUntrusted } from "../../jail/untrusted_files.ts";
import { exists } from "../../os/files.ts";
import { git, openRepo, type Repo } from "./git.ts";
import { gitDirs, LINK_MAX, unlessRefused } from "./git_dirs.ts";

const REPAIR_MS = 60_000;

/** Opens a repository, and tells git the current paths of svc's worktrees. */
export async function openMoved(
  root: string,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<Repo> {
  const repo = await openRepo(root, sandbox, signal);
  const moved = movedWorktrees(repo);
  if (moved.length > 0) await git(repo, ["worktree", "repair", ...moved], { signal });
  return repo;
}

/** Repairs the worktrees around or in a moved directory. @throws as {@linkcode openMoved} */
export async function followMoved(
  directory: string,
  sandbox: () => Promise<Sandbox>,
): Promise<void> {
  const root = worktreeAt(directory)?.repo ?? directory;
  if (!exists(join(root, ".git")) || !exists(join(root, ".svc", "worktrees"))) return;
  await openMoved(root, await sandbox(), AbortSignal.timeout(REPAIR_MS));
}

/**
 * Returns worktrees that moved with the repository. A command may have rewritten a worktree's
 * `.git` file, which git trusts, so it must name the same git directory.
 */
function movedWorktrees(repo: Repo): string[] {
  const { root } = repo;
  const known = gitDirs(repo);
  const moved: string[] = [];
  for (const [path, git_dir] of known) {
    const name = worktreeAt(path)?.name;
    if (name === undefined || path === worktreePath(root, name) || exists(path)) continue;
    const now = worktreePath(root, name);
    if (known.has(now) || !exists(now)) continue;
    const link = readUntrusted(
      root,
      (files) => unlessRefused(() => files.text(join(now, ".git"), LINK_MAX))?.trimEnd(),
    );
    if (link?.startsWith("gitdir: ") && basename(link) === basename(git_dir)) moved.push(now);
  }
  return moved;
}
