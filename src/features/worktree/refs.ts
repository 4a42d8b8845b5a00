/** Branches of svc and what it keeps beside them. */
import { join } from "@std/path";
import { git, type GitOptions, type Repo } from "./git.ts";

/**
 * Deletes a ref that only svc writes, also one that a git had locked when it was cut off.
 *
 * @param ref its full name; one that is not there is deleted already.
 * @throws {SvcError} internal with what git said.
 */
export async function deleteRef(repo: Repo, ref: string, options: GitOptions): Promise<void> {
  const args = ["update-ref", "-d", ref];
  try {
    await git(repo, args, options);
  } catch (error) {
    // A git that is at work has its lock for less time than git has waited for it.
    if (!await unlock(repo, ref)) throw error;
    await git(repo, args, options);
  }
}

/** @returns whether there was a lock. */
async function unlock({ git_dir }: Repo, ref: string): Promise<boolean> {
  try {
    await Deno.remove(join(git_dir, `${ref}.lock`));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
