/** Commits changes in a checkout. */
import { SvcError } from "../../protocol/errors.ts";
import { COMMITTED, type WorktreeCall } from "./checkout.ts";
import { git, gitLine } from "./git.ts";
import { withRepoLock } from "./repo_lock.ts";
import { branchOf, noCheckout, openCheckout } from "./uncommitted.ts";

const COMMIT_MS = 600_000;

/**
 * Commits all changes in a checkout, or those of some files. The author is the person's git
 * identity; hooks do not run, and nothing is signed.
 * @returns the new commit; undefined without changes
 * @throws {SvcError} validation outside of a repository; conflict on no branch, or during a merge
 */
export async function commitChanges(
  options: Omit<WorktreeCall, "repo"> & {
    workdir: string;
    message: string;
    /** Relative to the directory. */
    paths?: readonly string[];
  },
): Promise<string | undefined> {
  const { workdir, message, paths, signal } = options;
  const checkout = await openCheckout(options);
  if (checkout === undefined) throw noCheckout(workdir);
  const { repo, at } = checkout;
  return await withRepoLock(repo.root, signal, async () => {
    if (await branchOf(checkout, signal) === undefined) {
      throw new SvcError("conflict", `${workdir} is not on a branch`, {
        hint: "create one first: git switch --create NAME",
      });
    }
    const merging = ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"];
    const unmerged = ["diff", "--name-only", "--diff-filter=U", "--ignore-submodules=dirty"];
    if (
      (await git(repo, merging, { at, signal, answers: [0, 1, 128] })).code === 0 ||
      await gitLine(repo, unmerged, { at, signal }) !== ""
    ) {
      throw new SvcError("conflict", `a merge is not finished in ${workdir}`, {
        hint: "finish or abort it with git, then commit",
      });
    }
    const literal = { GIT_LITERAL_PATHSPECS: "1" };
    const call = paths === undefined
      ? { at, signal, timeout_ms: COMMIT_MS }
      : { at, signal, timeout_ms: COMMIT_MS, env: literal };
    const specs = paths ?? COMMITTED;
    await git(repo, ["add", "--all", "--", ...specs], call);
    const staged = [
      "diff",
      "--cached",
      "--quiet",
      "--no-ext-diff",
      "--no-textconv",
      "--",
      ...specs,
    ];
    if ((await git(repo, staged, { ...call, answers: [0, 1] })).code === 0) return undefined;
    const commit = ["commit", "--quiet", "--no-verify", "--cleanup=whitespace"];
    const only = paths === undefined ? [] : ["--only", "--", ...paths];
    await git(repo, [...commit, `--message=${message}`, ...only], call);
    return await gitLine(repo, ["rev-parse", "HEAD"], { at, signal });
  });
}
