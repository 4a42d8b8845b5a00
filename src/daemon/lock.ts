/** One daemon per user (product.md, Authentication rule 6): an advisory lock on `daemon.lock`. */
import { checkPrivate } from "../platform/files.ts";

export interface Lock {
  release(): void;
}

/**
 * Takes the lock; the system gives it back when the process ends, however it ends.
 *
 * @returns undefined when another process holds it.
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
