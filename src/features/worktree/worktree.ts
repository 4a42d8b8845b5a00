/**
 * Worktrees of a git repository: checkouts in `<repo>/.svc/worktrees/<name>` on branch
 * `svc/<name>`.
 */
import type * as z from "zod";
import { RootedError } from "../../jail/rooted.ts";
import { SvcError } from "../../protocol/errors.ts";
import { exists } from "../../os/files.ts";
import { removeTree } from "../../os/remove_tree.ts";
import { readUntrusted } from "../../jail/untrusted_files.ts";
import { worktreeAt, worktreePath } from "../../base/worktree_path.ts";
import { makeOwnDir } from "../../session/workdir.ts";
import {
  changedPaths,
  commitOf,
  COMMITTED,
  headOf,
  isMerged,
  mergedRef,
  noWorktree,
  openWorktree,
  requireOnBranch,
  type WorktreeCall,
} from "./checkout.ts";
import { git, gitLine, type Repo } from "./git.ts";
import { gitDirOf, gitDirs } from "./git_dirs.ts";
import { openMoved } from "./moved.ts";
import { branchOf, checkName } from "./names.ts";
import { deleteRef } from "./refs.ts";
import { withRepoLock } from "./repo_lock.ts";
import type { createdWorktreeSchema, worktreeItemSchema } from "./schemas.ts";

export { openWorktree, type WorktreeCall } from "./checkout.ts";
export { diffWorktree, type FileChange, type WorktreeDiff } from "./diff.ts";
export { type MergeResult, type MergeStrategy, mergeWorktree } from "./merge.ts";

type CreatedWorktree = z.output<ReturnType<typeof createdWorktreeSchema>>;

type WorktreeItem = z.output<ReturnType<typeof worktreeItemSchema>>;

/** To write a checkout. */
const CHECKOUT_MS = 600_000;

/**
 * Creates a worktree and its branch.
 * @param options.base a commit, branch or tag; default: the current checkout
 * @throws {SvcError} validation for a bad name, base or repository; conflict when it exists
 */
export async function createWorktree(
  options: WorktreeCall & { name: string; base?: string },
): Promise<CreatedWorktree> {
  const { name, base, sandbox, signal } = options;
  checkName(name);
  const repo = await openMoved(options.repo, sandbox, signal);
  return await withRepoLock(repo.root, signal, async () => {
    const path = worktreePath(repo.root, name);
    const branch = branchOf(name);
    const base_commit = base === undefined
      ? await headOf(repo, signal)
      : await requireCommit(repo, base, signal);
    if (exists(path) || await commitOf(repo, `refs/heads/${branch}`, signal) !== undefined) {
      throw new SvcError("conflict", `worktree ${name} or its branch ${branch} already exists`, {
        hint: "choose another name, or remove it with worktree.clean",
      });
    }
    makeOwnDir(repo.root, ["worktrees"]);
    try {
      // `--force`: git may still list a worktree whose directory is missing.
      await git(
        repo,
        ["worktree", "add", "--force", "--quiet", "--no-track", "-b", branch, path, base_commit],
        { signal, timeout_ms: CHECKOUT_MS },
      );
    } catch (error) {
      await remove(repo, name).catch(() => {});
      throw error;
    }
    return { name, path, branch, base_commit };
  });
}

async function requireCommit(repo: Repo, base: string, signal: AbortSignal): Promise<string> {
  const commit = await commitOf(repo, base, signal);
  if (commit !== undefined) return commit;
  throw new SvcError("validation", `base ${JSON.stringify(base)} is not a commit`, {
    hint: "pass a branch, a tag or a commit of the repository",
  });
}

/**
 * Commits all changes in a worktree, without hooks. The author is the user's git identity or a
 * neutral one.
 * @param options.path the worktree's top directory
 * @returns the new commit; undefined without changes
 * @throws {SvcError} conflict when the worktree is not on its branch
 */
export async function commitAll(
  { path, message, sandbox, signal }: Omit<WorktreeCall, "repo"> & {
    path: string;
    message: string;
  },
): Promise<string | undefined> {
  const place = worktreeAt(path);
  if (place === undefined) {
    throw new SvcError("validation", `${path} is not a worktree that svc created`);
  }
  const call = { repo: place.repo, name: place.name, sandbox, signal };
  const tree = await openWorktree(call);
  return await withRepoLock(place.repo, signal, async () => {
    await requireOnBranch(tree, signal);
    const { repo } = tree;
    await git(repo, ["add", "--all", "--", ...COMMITTED], {
      signal,
      at: tree,
      timeout_ms: CHECKOUT_MS,
    });
    const { code } = await git(
      repo,
      ["diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv"],
      { signal, at: tree, answers: [0, 1] },
    );
    if (code === 0) return undefined;
    await git(
      repo,
      ["commit", "--quiet", "--no-verify", "--cleanup=whitespace", `--message=${message}`],
      { signal, at: tree },
    );
    return await gitLine(repo, ["rev-parse", "HEAD"], { signal, at: tree });
  });
}

/** Returns the worktrees of a repository, sorted by name. */
export async function listWorktrees(call: WorktreeCall): Promise<WorktreeItem[]> {
  const repo = await openMoved(call.repo, call.sandbox, call.signal);
  const git_dirs = gitDirs(repo);
  const items: WorktreeItem[] = [];
  for (const name of knownNames(repo, git_dirs.keys())) {
    items.push(await itemOf(repo, name, git_dirs, call.signal));
  }
  return items;
}

/** Returns the names of worktrees that git knows or that have a directory. */
function knownNames({ root }: Repo, paths: Iterable<string>): string[] {
  const names = new Set<string>();
  for (const path of paths) {
    const place = worktreeAt(path);
    if (place?.repo === root) names.add(place.name);
  }
  const dir = worktreePath(root, "");
  const found = exists(dir) ? readUntrusted(root, (files) => files.names(dir)) : [];
  for (const name of found) names.add(name);
  return [...names].sort();
}

async function itemOf(
  repo: Repo,
  name: string,
  git_dirs: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<WorktreeItem> {
  const path = worktreePath(repo.root, name);
  const branch = branchOf(name);
  const item: WorktreeItem = { name, path, branch, merged: false, uncommitted: 0 };
  const git_dir = git_dirs.get(path);
  if (git_dir === undefined) return { ...item, problem: "git does not list it as a worktree" };
  item.commit = await commitOf(repo, `refs/heads/${branch}`, signal);
  if (item.commit === undefined) {
    return { ...item, problem: `its branch ${branch} no longer exists` };
  }
  item.merged = await isMerged(repo, name, item.commit, signal);
  if (!exists(path)) return { ...item, problem: "its directory no longer exists" };
  const changed = await changedPaths({ repo, name, branch, path, git_dir }, signal);
  return { ...item, uncommitted: changed.length };
}

/**
 * Removes a worktree with its directory and branch, also one whose creation was cut off.
 * @param options.force also discards uncommitted or unmerged work
 * @throws {SvcError} not_found; conflict for such work without `force`, or for a locked worktree
 */
export async function cleanWorktree(
  options: WorktreeCall & { name: string; force?: boolean },
): Promise<void> {
  const { name, force = false, sandbox, signal } = options;
  checkName(name);
  const repo = await openMoved(options.repo, sandbox, signal);
  await withRepoLock(repo.root, signal, async () => {
    const path = worktreePath(repo.root, name);
    const git_dir = gitDirOf(repo, path);
    const tip = await commitOf(repo, `refs/heads/${branchOf(name)}`, signal);
    if (git_dir === undefined && tip === undefined && !exists(path)) {
      throw noWorktree(name, repo.root);
    }
    const lock = git_dir && readIfLocked(repo, git_dir);
    if (lock !== undefined) {
      throw new SvcError("conflict", `worktree ${name} is locked${lock && `: ${lock}`}`, {
        hint: `git -C ${repo.root} worktree unlock ${path}`,
      });
    }
    if (!force) await requireNothingToLose(repo, { name, path, git_dir, tip }, signal);
    // From here on it must finish: half a worktree is useless.
    await remove(repo, name);
  });
}

/** Git's lock reason during creation; it stays after a crash. */
const INITIALIZING = "initializing";

/** In bytes. */
const REASON_MAX = 4 * 1024;

/** Returns why a worktree is locked; `""` if that file cannot be read. */
function readIfLocked({ root }: Repo, git_dir: string): string | undefined {
  const path = `${git_dir}/locked`;
  if (!exists(path)) return undefined;
  try {
    const text = readUntrusted(root, (files) => files.text(path, REASON_MAX));
    const reason = text?.trim() ?? INITIALIZING;
    return reason === INITIALIZING ? undefined : reason;
  } catch (error) {
    if (error instanceof RootedError) return "";
    throw error;
  }
}

async function requireNothingToLose(
  repo: Repo,
  { name, path, git_dir, tip }: { name: string; path: string; git_dir?: string; tip?: string },
  signal: AbortSignal,
): Promise<void> {
  const refuse = (what: string, details: Record<string, unknown> = {}) =>
    new SvcError("conflict", `worktree ${name} ${what}`, {
      hint: "merge it first, or set force to discard this",
      details,
    });
  if (exists(path)) {
    if (git_dir === undefined) throw refuse("has files, and git does not list it as a worktree");
    const tree = { repo, name, branch: branchOf(name), path, git_dir };
    const changed = await changedPaths(tree, signal);
    if (changed.length > 0) {
      const shown = changed.slice(0, 5).join(", ");
      const more = changed.length > 5 ? ` and ${changed.length - 5} more` : "";
      throw refuse(`has uncommitted changes: ${shown}${more}`, { uncommitted: changed.length });
    }
  }
  if (tip !== undefined && !await isMerged(repo, name, tip, signal)) {
    const branch = branchOf(name);
    throw refuse(`has commits that are not merged (${branch} is at ${tip.slice(0, 12)})`, {
      unmerged: tip,
    });
  }
}

/** Removes the parts of a worktree that exist. */
async function remove(repo: Repo, name: string): Promise<void> {
  const path = worktreePath(repo.root, name);
  const options = { signal: new AbortController().signal, timeout_ms: CHECKOUT_MS };
  if (exists(path)) await removeTree(path);
  if (gitDirOf(repo, path) !== undefined) {
    // Twice, for one whose creation was cut off and which is still locked.
    await git(repo, ["worktree", "remove", "--force", "--force", path], options);
  }
  for (const ref of [`refs/heads/${branchOf(name)}`, mergedRef(name)]) {
    await deleteRef(repo, ref, options);
  }
}
