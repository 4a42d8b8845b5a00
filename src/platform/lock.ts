/** A lock that one process holds: an advisory one on a file of ours. */
import { checkPrivate } from "./files.ts";
import { writeAllSync } from "./write_all.ts";

export interface Lock {
  /** The text in the file, which outlives who holds it. Windows lets nobody else read or write it. */
  read(): string;
  /** Replaces the text. @throws what the system says. */
  write(text: string): void;
  release(): void;
}

/** Bytes of the text in a lock's file that are read. */
const TEXT_MAX = 64;

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
  return {
    read() {
      const bytes = new Uint8Array(TEXT_MAX);
      file.seekSync(0, Deno.SeekMode.Start);
      return new TextDecoder().decode(bytes.subarray(0, file.readSync(bytes) ?? 0));
    },
    write(text) {
      file.truncateSync(0);
      file.seekSync(0, Deno.SeekMode.Start);
      writeAllSync(file, new TextEncoder().encode(text));
    },
    release: () => file.close(),
  };
}
