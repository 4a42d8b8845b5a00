/** Marks for sessions' unfinished work, one file each in svc's home; they survive a kill. */
import { join } from "@std/path";
import { atomicWrite, ensurePrivateDir, readDirIfAny, syncDir } from "../os/files.ts";

export class Marks {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Texts of the marks by session id. Call at the start: it removes half-written marks. */
  read(): Map<string, string> {
    const marks = new Map<string, string>();
    for (const { name, isFile } of readDirIfAny(this.#dir)) {
      const path = join(this.#dir, name);
      if (name.endsWith(".tmp")) Deno.removeSync(path);
      else if (isFile) marks.set(name, Deno.readTextFileSync(path));
    }
    return marks;
  }

  /** Writes a mark; a durable one survives a power cut. @throws the system's error */
  async put(id: string, text: string, durable: boolean): Promise<void> {
    ensurePrivateDir(this.#dir);
    await atomicWrite(join(this.#dir, id), text, 0o600, { durable });
  }

  /** Removes a mark. @throws the system's error */
  remove(id: string): void {
    Deno.removeSync(join(this.#dir, id));
  }

  /** Makes removals survive a power cut. */
  sync(): void {
    syncDir(this.#dir);
  }
}
