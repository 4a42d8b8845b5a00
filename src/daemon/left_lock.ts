/**
 * The lock of a daemon that was killed. A program that it was just starting has the lock, too, until
 * the kernel runs the program, which on a busy machine takes a moment.
 */
import { delay } from "@std/async";
import type { HomePaths } from "../os/paths.ts";
import { type Lock, takeLock } from "../os/lock.ts";
import { hasOpen, isAlive } from "../os/process.ts";

const PATIENCE_MS = 3_000;
const LOOK_MS = 20;
/** A daemon that was just killed looks alive until the kernel ends it. */
const ALIVE_MS = 200;

/** Waits for a lock that is taken, unless the daemon that took it lives. @returns undefined then */
export async function takeLeftLock(
  { lock: path, discovery }: Pick<HomePaths, "lock" | "discovery">,
): Promise<Lock | undefined> {
  let dead_at = performance.now();
  for (const until = dead_at + PATIENCE_MS; performance.now() < until;) {
    if (!isRunning(discovery, path)) dead_at = performance.now();
    else if (performance.now() - dead_at > ALIVE_MS) return undefined;
    await delay(LOOK_MS);
    const lock = await takeLock(path);
    if (lock !== undefined) return lock;
  }
  return undefined;
}

/** Whether the daemon of a discovery file lives; one that is starting has none yet. */
function isRunning(discovery: string, lock: string): boolean {
  try {
    const { pid } = JSON.parse(Deno.readTextFileSync(discovery));
    return Number.isInteger(pid) && isAlive(pid) && hasOpen(pid, lock) !== false;
  } catch {
    return false;
  }
}
