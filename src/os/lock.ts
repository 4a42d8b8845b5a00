/** A lock that one process holds: an advisory one on a file of ours. */
import { checkPrivate } from "./files.ts";

export interface Lock {
  release(): void;
}

/**
 * Takes the lock; the system gives it back when the process ends, however it ends.
 *
 * @returns undefined when it is held already, by another process or by this one.
 * @throws {SvcError} permission_denied when the file is wider than 0600, foreign or a link.
 */
export async function takeLock(path: string): Promise<Lock | undefined> {
  checkPrivate(path, 0o600, "file");
  const file = await Deno.open(path, { create: true, read: true, write: true, mode: 0o600 });
  if (!(await file.tryLock(true))) {
    file.close();
    return undefined;
  }
  return { release: () => file.close() };
}
