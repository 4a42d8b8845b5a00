/** Commits changes in a checkout. */
import { SvcError } from "../../protocol/errors.ts";
import { COMMITTED, type WorktreeCall } from "./checkout.ts";
import { git, gitLine } from "./git.ts";
import { withRepoLock } from "./repo_lock.ts";
import { exactFiles } from "../../jail/rooted_exact.ts";
import { branchOf, noCheckout, openCheckout, OWN } from "./uncommitted.ts";

const COMMIT_MS = 600_000;

/** Files that an error names. */
const NAMED_MAX = 10;

/** What git has begun and a commit would end. */
const UNFINISHED = { MERGE_HEAD: "merge", CHERRY_PICK_HEAD: "cherry-pick", REVERT_HEAD: "revert" };

/**
 * Commits all changes in a checkout, or those of some files. The author is the person's git
 * identity; hooks do not run, and nothing is signed.
 * @returns the new commit; undefined without changes
 * @throws {SvcError} validation outside of a repository, and for a path that is not committed;
 * conflict on no branch, during a merge, and for a file that has another version by now
 */
export async function commitChanges(
  options: Omit<WorktreeCall, "repo"> & {
    workdir: string;
    message: string;
    /** Relative to the directory. */
    paths?: readonly string[];
    /** Versions of files as somebody looked at them, by path. */
    versions?: Readonly<Record<string, string>>;
  },
): Promise<string | undefined> {
  const { workdir, message, paths, versions = {}, signal } = options;
  for (const path of paths ?? []) requirePlain(path);
  const checkout = await openCheckout(options);
  if (checkout === undefined) throw noCheckout(workdir);
  const { repo, at } = checkout;
  return await withRepoLock(repo.root, signal, async () => {
    if (await branchOf(checkout, signal) === undefined) {
      throw new SvcError("conflict", `${workdir} is not on a branch`, {
        hint: "create one first: git switch --create NAME",
      });
    }
    for (const [ref, what] of Object.entries(UNFINISHED)) {
      const begun = ["rev-parse", "--verify", "--quiet", ref];
      if ((await git(repo, begun, { at, signal, answers: [0, 1, 128] })).code === 0) {
        throw unfinished(what, workdir);
      }
    }
    const unmerged = ["diff", "--name-only", "--diff-filter=U", "--ignore-submodules=dirty"];
    if (await gitLine(repo, unmerged, { at, signal }) !== "") throw unfinished("merge", workdir);
    requireVersions(at.path, versions);
    const literal = { GIT_LITERAL_PATHSPECS: "1" };
    const call = paths === undefined
      ? { at, signal, timeout_ms: COMMIT_MS }
      : { at, signal, timeout_ms: COMMIT_MS, env: literal };
    const specs = paths ?? COMMITTED;
    const exists_now = exactFiles(at.path, []).look(paths ?? []);
    // What is deleted may be deleted in the index too, where `add` would not find it.
    const added = paths === undefined ? specs : specs.filter((_, n) => exists_now[n] !== undefined);
    if (added.length > 0) await git(repo, ["add", "--all", "--", ...added], call);
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
    requireVersions(at.path, versions);
    const commit = ["commit", "--quiet", "--no-verify", "--cleanup=whitespace"];
    const only = paths === undefined ? [] : ["--only", "--", ...paths];
    await git(repo, [...commit, `--message=${message}`, ...only], call);
    return await gitLine(repo, ["rev-parse", "HEAD"], { at, signal });
  });
}

function unfinished(what: string, workdir: string): SvcError {
  return new SvcError("conflict", `a ${what} is not finished in ${workdir}`, {
    hint: "finish or abort it with git, then commit",
  });
}

/** Git would also take absolute paths, and `.` with svc's own files. */
function requirePlain(path: string): void {
  const is_plain = path.split("/").every((part) => !/^(\.{0,2}|\.git)$/i.test(part));
  if (is_plain && !OWN.test(path)) return;
  throw new SvcError("validation", `${path} cannot be committed`, {
    hint: "pass paths as repository.changes names them",
  });
}

function requireVersions(root: string, versions: Readonly<Record<string, string>>): void {
  const paths = Object.keys(versions);
  const now = exactFiles(root, []).look(paths);
  const changed = paths.filter((path, n) => (now[n]?.version ?? "") !== versions[path]);
  if (changed.length === 0) return;
  const more = changed.length > NAMED_MAX ? ` and ${changed.length - NAMED_MAX} more` : "";
  throw new SvcError(
    "conflict",
    `changed since you looked: ${changed.slice(0, NAMED_MAX).join(", ")}${more}`,
    { hint: "nothing was committed; look at the changes again, then commit" },
  );
}
