import { delay } from "@std/async";
import { join } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import { takeLock } from "../../os/lock.ts";
import { makeOwnDir } from "../../session/workdir.ts";

const RETRY_MS = 50;
const WAIT_MS = 120_000;

/**
 * Runs work on a repository's worktrees, one process at a time.
 * @throws {SvcError} timeout after two minutes; the signal's reason; errors of `work`
 */
export async function withRepoLock<T>(
  root: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(makeOwnDir(root, ["worktrees"]), "..", "worktrees.lock");
  const until = performance.now() + WAIT_MS;
  while (true) {
    signal.throwIfAborted();
    const lock = await takeLock(path);
    if (lock === undefined) {
      if (performance.now() > until) {
        throw new SvcError("timeout", `another operation is using the worktrees of ${root}`, {
          hint: "try again when it has finished",
        });
      }
      await delay(RETRY_MS, { signal });
      continue;
    }
    try {
      return await work();
    } finally {
      lock.release();
    }
  }
}
