import { join } from "@std/path";
import { git, type GitOptions, type Repo } from "./git.ts";

/**
 * Deletes a ref of svc's, even if a killed git left it locked. A missing one counts as deleted.
 * @throws {SvcError} internal with git's message
 */
export async function deleteRef(repo: Repo, ref: string, options: GitOptions): Promise<void> {
  const args = ["update-ref", "-d", ref];
  try {
    await git(repo, args, options);
  } catch (error) {
    // A running git would have released the lock by now.
    if (!await unlock(repo, ref)) throw error;
    await git(repo, args, options);
  }
}

/** @returns whether there was a lock */
async function unlock({ git_dir }: Repo, ref: string): Promise<boolean> {
  try {
    await Deno.remove(join(git_dir, `${ref}.lock`));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
