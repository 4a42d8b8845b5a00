import { delay } from "@std/async";
import { join } from "@std/path";
import { SvcError } from "../../protocol/errors.ts";
import { takeLock } from "../../os/lock.ts";
import { makeOwnDir } from "../../session/workdir.ts";

const RETRY_MS = 50;
const WAIT_MS = 120_000;

/**
 * Works on a repository's worktrees alone: of all processes one at a time does, and the lock goes
 * when its process does.
 *
 * @throws {SvcError} timeout when another holds it for two minutes.
 * @throws the signal's reason when it was aborted while it waited, and what `work` throws.
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
