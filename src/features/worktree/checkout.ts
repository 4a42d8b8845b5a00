/** A worktree as git has it: where its files are, where git keeps its index, on which branch it is. */
import { basename, dirname, join } from "@std/path";
import { BeneathError } from "../../jail/beneath.ts";
import { SvcError } from "../../protocol/errors.ts";
import { exists } from "../../os/files.ts";
import { readUntrusted } from "../../jail/untrusted_files.ts";
import { worktreePath } from "../../base/worktree_path.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { type Checkout, git, gitLine, openRepo, type Repo } from "./git.ts";
import { branchOf, checkName } from "./names.ts";

/**
 * The pathspec of what is committed: not the directory of svc, which a checkout would bring into the
 * repository's own.
 */
export const COMMITTED: readonly string[] = [".", ":(exclude,top,icase).svc"];

/** What every operation is told. */
export interface WorktreeCall {
  /** Absolute real path of the repository's top directory. */
  repo: string;
  /** Where git runs. */
  sandbox: Sandbox;
  /** Ends the operation; what was half done is undone, and what cannot be is done to its end. */
  signal: AbortSignal;
}

/** A worktree that git knows. */
export interface OpenWorktree extends Checkout {
  repo: Repo;
  name: string;
  branch: string;
}

/**
 * Finds a worktree and what git keeps of it. Its own `.git` file is not asked: whoever works in the
 * worktree may have rewritten that.
 *
 * @throws {SvcError} not_found; validation for a bad name or repository.
 */
export async function openWorktree(
  { repo: root, name, sandbox, signal }: WorktreeCall & { name: string },
): Promise<OpenWorktree> {
  checkName(name);
  const repo = await openRepo(root, sandbox, signal);
  const path = worktreePath(repo.root, name);
  const git_dir = gitDirOf(repo, path);
  if (git_dir === undefined) throw noWorktree(name, root);
  return { repo, name, branch: branchOf(name), path, git_dir };
}

/** The error for a worktree that is not there. */
export function noWorktree(name: string, root: string): SvcError {
  return new SvcError("not_found", `there is no worktree ${name} in ${root}`, {
    hint: "worktree.list shows the worktrees",
  });
}

/** The git directory of the worktree at a path: the one whose `gitdir` file names it. */
export function gitDirOf(repo: Repo, path: string): string | undefined {
  return gitDirs(repo).get(path);
}

/** More than any path has, in bytes. */
const LINK_MAX = 8 * 1024;

/**
 * The git directories of the worktrees that git knows, by the paths of those. What a command put in
 * the place of one of its files is passed over: git would not know that worktree either.
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

function unlessRefused<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof BeneathError) return undefined;
    throw error;
  }
}

/** The commit that a name stands for; undefined when there is none. */
export async function commitOf(
  repo: Repo,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`];
  const { code, stdout } = await git(repo, args, { signal, answers: [0, 1, 128] });
  return code === 0 ? stdout.trimEnd() : undefined;
}

/** The commit of the repository's checkout. @throws {SvcError} conflict when there is none yet. */
export async function headOf(repo: Repo, signal: AbortSignal): Promise<string> {
  const head = await commitOf(repo, "HEAD", signal);
  if (head !== undefined) return head;
  throw new SvcError("conflict", `${repo.root} has no commit yet`, { hint: "create one first" });
}

/** The commit of a worktree's branch. @throws {SvcError} not_found when the branch is gone. */
export async function tipOf(repo: Repo, branch: string, signal: AbortSignal): Promise<string> {
  const tip = await commitOf(repo, `refs/heads/${branch}`, signal);
  if (tip !== undefined) return tip;
  throw new SvcError("not_found", `there is no branch ${branch} in ${repo.root}`);
}

/** Whether a commit is in the history of another. */
export async function isAncestor(
  repo: Repo,
  ancestor: string,
  of: string,
  signal: AbortSignal,
): Promise<boolean> {
  const args = ["merge-base", "--is-ancestor", ancestor, of];
  return (await git(repo, args, { signal, answers: [0, 1] })).code === 0;
}

/** Where it is recorded which commit of a worktree was merged: a squash leaves no other trace. */
export function mergedRef(name: string): string {
  return `refs/svc/merged/${name}`;
}

/** Whether the commit of a worktree's branch is part of what the repository has checked out. */
export async function isMerged(
  repo: Repo,
  name: string,
  tip: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (await commitOf(repo, mergedRef(name), signal) === tip) return true;
  return await isAncestor(repo, tip, await headOf(repo, signal), signal);
}

/** The paths in a worktree that differ from its last commit, also new ones. */
export async function changedPaths(tree: OpenWorktree, signal: AbortSignal): Promise<string[]> {
  const args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"];
  const { stdout } = await git(tree.repo, [...args, "--ignore-submodules=dirty"], {
    signal,
    at: tree,
  });
  return stdout.split("\0").filter((entry) => entry !== "").map((entry) => entry.slice(3));
}

/**
 * Makes sure that a worktree is on its branch: what is committed must land there.
 *
 * @throws {SvcError} conflict when it is not.
 */
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
