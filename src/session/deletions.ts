/**
 * Sessions that are being deleted. Each has a mark in svc's home from before the first of its files
 * goes until the last one is gone: a daemon that finds one at its start goes on with it.
 */
import { join } from "@std/path";
import { atomicWrite, ensurePrivateDir, readDirIfAny, syncDir } from "../os/files.ts";

export class Deletions {
  readonly #dir: string;
  /** Deletions that started in this process; they cannot be undone. */
  readonly #begun = new Set<string>();

  /** @param dir where the marks are. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Whether a session is deleted, or about to be. */
  has(id: string): boolean {
    return this.#begun.has(id);
  }

  /** The deletions that were cut off: the paths of the journals by the ids of their sessions. */
  left(): Map<string, string> {
    const left = new Map<string, string>();
    for (const { name, isFile } of readDirIfAny(this.#dir)) {
      if (!isFile || name.endsWith(".tmp")) continue;
      left.set(name, Deno.readTextFileSync(join(this.#dir, name)));
      this.#begun.add(name);
    }
    return left;
  }

  /** Starts a deletion that survives a power cut. @throws the system's error; nothing then starts */
  async begin(id: string, journal_path: string): Promise<void> {
    ensurePrivateDir(this.#dir);
    await atomicWrite(join(this.#dir, id), journal_path, 0o600);
    this.#begun.add(id);
  }

  /** Records that nothing of the session is left. */
  end(id: string): void {
    Deno.removeSync(join(this.#dir, id));
    syncDir(this.#dir);
  }
}
