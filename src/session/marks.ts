/** Marks of sessions, a file each in svc's home: what a daemon that is killed has not finished. */
import { join } from "@std/path";
import { atomicWrite, ensurePrivateDir, readDirIfAny, syncDir } from "../os/files.ts";

export class Marks {
  readonly #dir: string;

  /** @param dir where they are. */
  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * What the marks that are there say, by the ids of their sessions. For a start: half-written ones
   * are removed.
   */
  read(): Map<string, string> {
    const marks = new Map<string, string>();
    for (const { name, isFile } of readDirIfAny(this.#dir)) {
      const path = join(this.#dir, name);
      if (name.endsWith(".tmp")) Deno.removeSync(path);
      else if (isFile) marks.set(name, Deno.readTextFileSync(path));
    }
    return marks;
  }

  /** Makes one; a durable one survives a power cut. @throws the system's error */
  async put(id: string, text: string, durable: boolean): Promise<void> {
    ensurePrivateDir(this.#dir);
    await atomicWrite(join(this.#dir, id), text, 0o600, { durable });
  }

  /** Removes one. @throws the system's error */
  remove(id: string): void {
    Deno.removeSync(join(this.#dir, id));
  }

  /** Has the removals survive a power cut. */
  sync(): void {
    syncDir(this.#dir);
  }
}
