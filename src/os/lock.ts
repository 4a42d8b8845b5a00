/** An advisory lock on our own file. */
import { checkPrivate } from "./files.ts";

export interface Lock {
  release(): void;
}

/**
 * Takes the lock. The system releases it when the process ends.
 *
 * @returns undefined if it is taken, also by this process
 * @throws {SvcError} permission_denied when the file is wider than 0600, foreign or a link
 */
export async function takeLock(path: string): Promise<Lock | undefined> {
  while (true) {
    checkPrivate(path, 0o600, "file");
    const file = await Deno.open(path, { create: true, read: true, write: true, mode: 0o600 });
    if (!(await file.tryLock(true))) {
      file.close();
      return undefined;
    }
    if (isAt(path, file)) return { release: () => file.close() };
    // It was removed after it was opened: another process can lock a new one.
    file.close();
  }
}

function isAt(path: string, file: Deno.FsFile): boolean {
  if (Deno.build.os === "windows") return true;
  const { dev, ino } = file.statSync();
  try {
    const named = Deno.lstatSync(path);
    return named.dev === dev && named.ino === ino;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
