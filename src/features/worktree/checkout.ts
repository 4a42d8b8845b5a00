/** A worktree as git knows it. */
import { SvcError } from "../../protocol/errors.ts";
import { worktreePath } from "../../base/worktree_path.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { type Checkout, git, gitLine, type Repo } from "./git.ts";
import { gitDirOf } from "./git_dirs.ts";
import { openMoved } from "./moved.ts";
import { branchOf, checkName } from "./names.ts";

/**
 * The pathspec of commits: without svc's directory, which a checkout would bring into the
 * repository's own.
 */
export const COMMITTED: readonly string[] = [".", ":(exclude,top,icase).svc"];

/** The parameters of every operation. */
export interface WorktreeCall {
  /** Absolute real path of the repository's top directory. */
  repo: string;
  sandbox: Sandbox;
  /** Aborts; partial work is undone, or finished if it cannot be undone. */
  signal: AbortSignal;
}

export interface OpenWorktree extends Checkout {
  repo: Repo;
  name: string;
  branch: string;
}

/**
 * Finds a worktree. Does not trust the worktree's own `.git` file, which a command may have
 * rewritten.
 * @throws {SvcError} not_found; validation for a bad name or repository
 */
export async function openWorktree(
  { repo: root, name, sandbox, signal }: WorktreeCall & { name: string },
): Promise<OpenWorktree> {
  checkName(name);
  const repo = await openMoved(root, sandbox, signal);
  const path = worktreePath(repo.root, name);
  const git_dir = gitDirOf(repo, path);
  if (git_dir === undefined) throw noWorktree(name, root);
  return { repo, name, branch: branchOf(name), path, git_dir };
}

/** Returns the error for a missing worktree. */
export function noWorktree(name: string, root: string): SvcError {
  return new SvcError("not_found", `there is no worktree ${name} in ${root}`, {
    hint: "worktree.list shows the worktrees",
  });
}

/** Returns a commit's hash; undefined if it does not exist. */
export async function commitOf(
  repo: Repo,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const { code, stdout } = await git(repo, args, { signal, answers: [0, 1, 128] });
  return code === 0 ? stdout.trimEnd() : undefined;
}

/**
 * Returns the commit of the repository's checkout. @throws {SvcError} conflict without a commit.
 */
export async function headOf(repo: Repo, signal: AbortSignal): Promise<string> {
  const head = await commitOf(repo, "HEAD", signal);
  if (head !== undefined) return head;
  throw new SvcError("conflict", `${repo.root} has no commit yet`, { hint: "create one first" });
}

/** Returns the commit of a branch. @throws {SvcError} not_found without that branch. */
export async function tipOf(repo: Repo, branch: string, signal: AbortSignal): Promise<string> {
  const tip = await commitOf(repo, `refs/heads/${branch}`, signal);
  if (tip !== undefined) return tip;
  throw new SvcError("not_found", `there is no branch ${branch} in ${repo.root}`);
}

/** Reports whether a commit is in the history of another. */
export async function isAncestor(
  repo: Repo,
  ancestor: string,
  of: string,
  signal: AbortSignal,
): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", ancestor, of];
  return (await git(repo, args, { signal, answers: [0, 1] })).code === 0;
}

/** Returns the ref of a worktree's merged commit; a squash leaves no other trace. */
export function mergedRef(name: string): string {
  return `refs/svc/merged/${name}`;
}

/** Reports whether a worktree's commit is part of the repository's checkout. */
export async function isMerged(
  repo: Repo,
  name: string,
  tip: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (await commitOf(repo, mergedRef(name), signal) === tip) return true;
  return await isAncestor(repo, tip, await headOf(repo, signal), signal);
}

/** Returns paths that differ from the last commit, including new ones. */
export async function changedPaths(tree: OpenWorktree, signal: AbortSignal): Promise<string[]> {
  const args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"];
  const { stdout } = await git(tree.repo, [...args, "--ignore-submodules=dirty"], {
    signal,
    at: tree,
  });
  return stdout.split("\0").filter((entry) => entry !== "").map((entry) => entry.slice(3));
}

/** Checks that a worktree is on its branch, for commits. @throws {SvcError} conflict. */
export async function requireOnBranch(tree: OpenWorktree, signal: AbortSignal): Promise<void> {
  const at = await gitLine(tree.repo, ["symbolic-ref", "--quiet", "HEAD"], {
    signal,
    at: tree,
    answers: [0, 1],
  });
  if (at === `refs/heads/${tree.branch}`) return;
  throw new SvcError("conflict", `worktree ${tree.name} is not on its branch ${tree.branch}`, {
    hint: `switch it back: git -C ${tree.path} switch ${tree.branch}`,
  });
}
