/** Merges a worktree into the repository's checkout. */
import type * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { headOf, isAncestor, mergedRef, tipOf, type WorktreeCall } from "./checkout.ts";
import { git, gitLine, type Repo } from "./git.ts";
import { openMoved } from "./moved.ts";
import { nameOfBranch } from "./names.ts";
import { withRepoLock } from "./repo_lock.ts";
import type { mergeResultSchema } from "./schemas.ts";

/**
 * `ff-only` moves the checkout to the branch; `squash` makes one commit; `ours` records the branch
 * as merged but keeps the checkout's files.
 */
export type MergeStrategy = "ff-only" | "squash" | "ours";

export type MergeResult = z.output<ReturnType<typeof mergeResultSchema>>;

/** The next commit of the checkout, or why there is none. */
type Target = { commit: string } | { reason: string; conflicts: string[] };

/** To write the checkout. */
const CHECKOUT_MS = 600_000;
/** Git's exit code for unknown options. */
const USAGE = 129;

/**
 * Merges a worktree's branch. Creates the result without a checkout, then fast-forwards the
 * checkout, which git refuses if uncommitted files are in the way. A failed merge changes nothing.
 * @param options.signal aborts until the checkout begins to move
 * @throws {SvcError} not_found for a missing branch; conflict without a commit or if HEAD moved
 */
export async function mergeWorktree(
  options: WorktreeCall & { branch: string; strategy: MergeStrategy; message?: string },
): Promise<MergeResult> {
  const { branch, strategy, signal } = options;
  const name = nameOfBranch(branch);
  const { message = `Merge ${branch}` } = options;
  const repo = await openMoved(options.repo, options.sandbox, signal);
  return await withRepoLock(repo.root, signal, async () => {
    const head = await headOf(repo, signal);
    const tip = await tipOf(repo, branch, signal);
    if (await isAncestor(repo, tip, head, signal)) return { merged: true, commit: head };
    const target = await targetOf(repo, { head, tip, branch, strategy, message }, signal);
    if ("reason" in target) return { merged: false, ...target };
    signal.throwIfAborted();
    const moved = await moveForward(repo, target.commit);
    if (moved.merged) await record(repo, name, tip);
    return moved;
  });
}

interface Sides {
  head: string;
  tip: string;
  branch: string;
  strategy: MergeStrategy;
  message: string;
}

async function targetOf(repo: Repo, sides: Sides, signal: AbortSignal): Promise<Target> {
  const { head, tip, strategy, message } = sides;
  if (strategy === "ff-only") {
    if (await isAncestor(repo, head, tip, signal)) return { commit: tip };
    const reason = `the repository has commits that are not in ${sides.branch}, so it cannot be ` +
      "fast-forwarded; use squash";
    return { reason, conflicts: [] };
  }
  if (strategy === "ours") {
    const commit = await commitTree(repo, `${head}^{tree}`, [head, tip], message, signal);
    return { commit };
  }
  const merged = await mergeTrees(repo, head, tip, signal);
  if ("reason" in merged) return merged;
  return { commit: await commitTree(repo, merged.tree, [head], message, signal) };
}

/** Merges two commits without a checkout. */
async function mergeTrees(
  repo: Repo,
  head: string,
  tip: string,
  signal: AbortSignal,
): Promise<{ tree: string } | { reason: string; conflicts: string[] }> {
  const args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", head, tip];
  const { code, stdout } = await git(repo, args, { signal, answers: [0, 1, USAGE] });
  if (code === USAGE) {
    throw new SvcError("not_implemented", "the installed git cannot merge without a checkout", {
      hint: "install git 2.38 or later",
    });
  }
  const [tree, ...files] = stdout.split("\0").map((part) => part.trim()).filter((it) => it !== "");
  if (code === 0) return { tree };
  return { reason: "both sides changed the same lines", conflicts: [...new Set(files)] };
}

async function commitTree(
  repo: Repo,
  tree: string,
  parents: string[],
  message: string,
  signal: AbortSignal,
): Promise<string> {
  const args = [...parents.flatMap((parent) => ["-p", parent]), "-m", message, tree];
  return await gitLine(repo, ["commit-tree", ...args], { signal });
}

/** Cannot be aborted: that would leave the checkout between two commits. */
async function moveForward(repo: Repo, commit: string): Promise<MergeResult> {
  const signal = new AbortController().signal;
  const args = [
    ...["merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash"],
    // Overrides the branch's configuration.
    ...["--commit", "--no-squash", "--no-verify-signatures"],
  ];
  const { code, stderr } = await git(repo, [...args, commit], {
    signal,
    timeout_ms: CHECKOUT_MS,
    answers: [0, 1, 128],
  });
  if (code === 0) return { merged: true, commit };
  // Each file is on its own line after a tab.
  const conflicts = [...stderr.matchAll(/^\t(.+)$/gm)].map(([, file]) => file);
  if (conflicts.length === 0) throw new SvcError("conflict", `git merge failed: ${stderr}`);
  return { merged: false, conflicts, reason: "uncommitted files are in the way" };
}

async function record(repo: Repo, name: string, tip: string): Promise<void> {
  const signal = new AbortController().signal;
  await git(repo, ["update-ref", mergedRef(name), tip], { signal });
}
