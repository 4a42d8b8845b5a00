/**
 * Worktrees of a repository: one for each job, and the result on the mission's branch.
 * That branch only moves forward, atomically, so that it always shows what is part of the result.
 */
import { delay } from "@std/async";
import { dirname, join } from "@std/path";
import type { Sandbox } from "../../jail/sandbox.ts";
import { messageOf, SvcError } from "../../protocol/errors.ts";
import { exists, readDirIfAny } from "../../os/files.ts";
import type { Log } from "../../os/log.ts";
import {
  commitOf,
  COMMITTED,
  headOf,
  isAncestor,
  mergedRef,
  type OpenWorktree,
  tipOf,
} from "../worktree/checkout.ts";
import { git, openRepo, type Repo } from "../worktree/git.ts";
import { worktreePath } from "../../base/worktree_path.ts";
import { branchOf } from "../worktree/names.ts";
import { deleteRef } from "../worktree/refs.ts";
import { withRepoLock } from "../worktree/repo_lock.ts";
import {
  cleanWorktree,
  commitAll,
  createWorktree,
  listWorktrees,
  mergeWorktree,
  openWorktree,
} from "../worktree/worktree.ts";
import type { MissionBranch } from "./mission.ts";
import type { Delivery, Integration, Place, Workspace } from "./workspace.ts";

export interface GitWorkspaceOptions {
  /** Absolute real path of the repository's top directory. */
  workdir: string;
  mission_id: string;
  /** The commit that the mission starts from. */
  base: string;
  sandbox: Sandbox;
  log: Log;
}

/** Number of files in the way that a message names. */
const NAMED_MAX = 5;
/** How long to wait for the git of an earlier daemon. */
const REST_MS = 60_000;
const REST_POLL_MS = 50;
/** How often to update a place because the result moved on. */
const ROUNDS_MAX = 20;

/**
 * Returns the branch for a mission; undefined if the workdir is not the top of a repository's main
 * checkout, or has no commit.
 */
export async function missionBranch(
  workdir: string,
  mission_id: string,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<MissionBranch | undefined> {
  try {
    const repo = await openRepo(workdir, sandbox, signal);
    return { name: branchOf(mission_id), base: await headOf(repo, signal) };
  } catch (error) {
    if (error instanceof SvcError && (error.code === "validation" || error.code === "conflict")) {
      return undefined;
    }
    throw error;
  }
}

export class GitWorkspace implements Workspace {
  readonly parallel = true;
  readonly #options: GitWorkspaceOptions;
  readonly #branch: string;

  constructor(options: GitWorkspaceOptions) {
    this.#options = options;
    this.#branch = branchOf(options.mission_id);
  }

  async prepare(signal: AbortSignal, keep: readonly string[]): Promise<void> {
    const repo = await this.#repo(signal);
    const worktrees = join(repo.git_dir, "worktrees");
    for (const { name } of readDirIfAny(worktrees)) {
      if (name.startsWith(this.#options.mission_id)) {
        await gitAtRest(join(worktrees, name), signal);
      }
    }
    await withRepoLock(repo.root, signal, () => Promise.resolve(this.#removeRefLocks(repo)));
    await this.#removeWorktrees(signal, keep.map((name) => this.#worktree(name)));
    if (await commitOf(repo, this.#ref, signal) === undefined) {
      await git(repo, ["update-ref", this.#ref, this.#options.base], { signal });
    }
  }

  async open(name: string, signal: AbortSignal): Promise<Place> {
    const worktree = this.#worktree(name);
    const { path } = await createWorktree({
      ...this.#call(signal),
      name: worktree,
      base: this.#ref,
    });
    return this.#place(worktree, path);
  }

  reopen(name: string): Place | undefined {
    const worktree = this.#worktree(name);
    const path = worktreePath(this.#options.workdir, worktree);
    return exists(path) ? this.#place(worktree, path) : undefined;
  }

  #worktree(name: string): string {
    return `${this.#options.mission_id}-${name}`;
  }

  #place(worktree: string, path: string): Place {
    return {
      path,
      integrate: (options) => this.#integrate(worktree, options),
      close: () => this.#remove(worktree),
    };
  }

  async contains(commit: string, signal: AbortSignal): Promise<boolean> {
    const repo = await this.#repo(signal);
    if (await commitOf(repo, commit, signal) === undefined) return false;
    return await isAncestor(repo, commit, await tipOf(repo, this.#branch, signal), signal);
  }

  async deliver(signal: AbortSignal): Promise<Delivery> {
    const repo = await this.#repo(signal);
    await gitAtRest(repo.git_dir, signal);
    const [head, tip] = [await headOf(repo, signal), await tipOf(repo, this.#branch, signal)];
    const done = await isAncestor(repo, tip, head, signal);
    if (!done && !await isAncestor(repo, head, tip, signal)) {
      return { delivered: false, behind: true };
    }
    const { merged, commit, conflicts = [], reason } = await mergeWorktree({
      ...this.#call(signal),
      branch: this.#branch,
      strategy: "ff-only",
    });
    if (merged) return { delivered: true, commit };
    const named = conflicts.slice(0, NAMED_MAX).join(", ");
    const more = conflicts.length > NAMED_MAX ? " and more" : "";
    return { delivered: false, behind: false, reason: `${reason}: ${named}${more}` };
  }

  async update({ path }: Place, signal: AbortSignal): Promise<string[]> {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const tree = await openWorktree({ ...this.#call(signal), name });
    const head = await headOf(tree.repo, signal);
    return await merge(tree, head, "Merge newer commits", signal);
  }

  async close(): Promise<string | undefined> {
    const signal = new AbortController().signal;
    try {
      await this.#removeWorktrees(signal);
      const repo = await this.#repo(signal);
      const tip = await commitOf(repo, this.#ref, signal);
      if (tip === undefined) return undefined;
      if (!await isAncestor(repo, tip, await headOf(repo, signal), signal)) return this.#branch;
      for (const ref of [this.#ref, mergedRef(this.#options.mission_id)]) {
        await deleteRef(repo, ref, { signal });
      }
    } catch (error) {
      this.#options.log.warn("cannot remove the branch of a mission", {
        mission_id: this.#options.mission_id,
        error: messageOf(error),
      });
    }
    return undefined;
  }

  async #integrate(
    name: string,
    { message, ready, signal }: Parameters<Place["integrate"]>[0],
  ): Promise<Integration> {
    const tree = await openWorktree({ ...this.#call(signal), name });
    const left = await leftConflicts(tree, signal);
    if (left.length > 0) return { merged: false, conflicts: left };
    await this.#commit(tree, message, signal);
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const tip = await tipOf(tree.repo, tree.branch, signal);
      const result = await tipOf(tree.repo, this.#branch, signal);
      if (await isAncestor(tree.repo, tip, result, signal)) {
        const is_base = await isAncestor(tree.repo, tip, this.#options.base, signal);
        return { merged: true, ...(is_base ? {} : { commit: tip }) };
      }
      if (await isAncestor(tree.repo, result, tip, signal)) {
        ready?.(tip);
        if (await moveRef(tree.repo, this.#ref, tip, result, signal)) {
          return { merged: true, commit: tip };
        }
        continue;
      }
      const conflicts = await merge(tree, result, `Merge ${this.#branch}`, signal);
      if (conflicts.length > 0) return { merged: false, conflicts };
    }
    throw new SvcError("conflict", `the branch ${this.#branch} keeps changing; try again later`);
  }

  async #commit(tree: OpenWorktree, message: string, signal: AbortSignal): Promise<void> {
    if (!await isMerging(tree, signal)) {
      await commitAll({ path: tree.path, message, sandbox: this.#options.sandbox, signal });
      return;
    }
    // A merge is concluded even if it changed no file.
    await withRepoLock(tree.repo.root, signal, async () => {
      await git(tree.repo, ["add", "--all", "--", ...COMMITTED], { signal, at: tree });
      await git(tree.repo, ["commit", "--quiet", "--no-verify", "--no-edit"], { signal, at: tree });
    });
  }

  get #ref(): string {
    return `refs/heads/${this.#branch}`;
  }

  #call(signal: AbortSignal) {
    const { workdir, sandbox } = this.#options;
    return { repo: workdir, sandbox, signal };
  }

  async #repo(signal: AbortSignal): Promise<Repo> {
    return await openRepo(this.#options.workdir, this.#options.sandbox, signal);
  }

  async #removeWorktrees(signal: AbortSignal, keep: readonly string[] = []): Promise<void> {
    const prefix = this.#worktree("");
    const kept = new Set<string>();
    for (const { name } of await listWorktrees(this.#call(signal))) {
      if (keep.includes(name)) kept.add(`refs/heads/${branchOf(name)}`);
      else if (name.startsWith(prefix)) await this.#remove(name);
    }
    // Git creates a worktree's branch first, so one may exist alone.
    const repo = await this.#repo(signal);
    const args = ["for-each-ref", "--format=%(refname)", `${this.#ref}-*`];
    const { stdout } = await git(repo, args, { signal });
    for (const ref of stdout.split("\n").filter((line) => line !== "" && !kept.has(line))) {
      await deleteRef(repo, ref, { signal });
    }
  }

  /** Removes locks of a git that a crash ended; nobody else writes these branches. */
  #removeRefLocks({ git_dir }: Repo): void {
    const dir = join(git_dir, "refs", "heads", dirname(this.#branch));
    for (const { name } of readDirIfAny(dir)) {
      const ours = name.startsWith(this.#options.mission_id) && name.endsWith(".lock");
      if (ours) Deno.removeSync(join(dir, name));
    }
  }

  async #remove(name: string): Promise<void> {
    try {
      await cleanWorktree({ ...this.#call(new AbortController().signal), name, force: true });
    } catch (error) {
      this.#options.log.warn("cannot remove the worktree of a mission", {
        worktree: name,
        error: messageOf(error),
      });
    }
  }
}

/** Merges a commit into a worktree. @returns the files with conflicts, left in the worktree. */
async function merge(
  tree: OpenWorktree,
  commit: string,
  message: string,
  signal: AbortSignal,
): Promise<string[]> {
  return await withRepoLock(tree.repo.root, signal, async () => {
    const args = ["merge", "--no-ff", "--no-verify", "--no-autostash", "--quiet", "-m", message];
    const { code, stderr } = await git(tree.repo, [...args, commit], {
      signal,
      at: tree,
      answers: [0, 1],
    });
    if (code === 0) return [];
    const conflicts = await unmerged(tree, signal);
    if (conflicts.length > 0) return conflicts;
    throw new SvcError("conflict", `git merge failed in ${tree.path}: ${stderr}`);
  });
}

async function unmerged(tree: OpenWorktree, signal: AbortSignal): Promise<string[]> {
  const args = ["diff", "--name-only", "--diff-filter=U", "-z", "--no-ext-diff"];
  const { stdout } = await git(tree.repo, args, { signal, at: tree });
  return [...new Set(stdout.split("\0").filter((path) => path !== ""))];
}

/** The conflicting files of a merge in progress that still have conflict markers. */
async function leftConflicts(tree: OpenWorktree, signal: AbortSignal): Promise<string[]> {
  const files = await unmerged(tree, signal);
  if (files.length === 0) return [];
  const args = ["grep", "--no-index", "-l", "-z", "-I", "-e", "^<<<<<<< ", "--", ...files];
  const { stdout } = await git(tree.repo, args, { signal, at: tree, answers: [0, 1] });
  return stdout.split("\0").filter((path) => path !== "");
}

async function isMerging(tree: OpenWorktree, signal: AbortSignal): Promise<boolean> {
  const args = ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"];
  return (await git(tree.repo, args, { signal, at: tree, answers: [0, 1, 128] })).code === 0;
}

/**
 * Waits until no git works on a checkout: that of an earlier daemon may still run. A lock that
 * stays is reported by the next git.
 */
async function gitAtRest(git_dir: string, signal: AbortSignal): Promise<void> {
  const until = performance.now() + REST_MS;
  while (exists(join(git_dir, "index.lock")) && performance.now() < until) {
    await delay(REST_POLL_MS, { signal });
  }
}

/** Moves a branch forward. @returns false if it has moved meanwhile. */
async function moveRef(
  repo: Repo,
  ref: string,
  to: string,
  from: string,
  signal: AbortSignal,
): Promise<boolean> {
  return (await git(repo, ["update-ref", ref, to, from], { signal, answers: [0, 1, 128] }))
    .code === 0;
}
