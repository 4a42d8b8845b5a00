/** The names of worktrees and their branches: `svc/<name>`. */
import { SvcError } from "../../protocol/errors.ts";

const BRANCH_PREFIX = "svc/";
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$/;

/**
 * Checks a worktree's name, which becomes a directory and a branch. @throws {SvcError} validation.
 */
export function checkName(name: string): void {
  if (NAME.test(name) && !name.includes("..") && !name.endsWith(".lock")) return;
  throw new SvcError("validation", `${JSON.stringify(name)} is not a valid name for a worktree`, {
    hint: "use 1 to 64 letters, digits, '-', '_' and '.', beginning with a letter or digit",
  });
}

/** Returns the branch of a worktree. */
export function branchOf(name: string): string {
  return BRANCH_PREFIX + name;
}

/** Returns the worktree of a branch. @throws {SvcError} validation for any other branch. */
export function nameOfBranch(branch: string): string {
  if (!branch.startsWith(BRANCH_PREFIX)) {
    throw new SvcError("validation", `${JSON.stringify(branch)} is not the branch of a worktree`, {
      hint: `branches of worktrees start with ${BRANCH_PREFIX}`,
    });
  }
  const name = branch.slice(BRANCH_PREFIX.length);
  checkName(name);
  return name;
}
