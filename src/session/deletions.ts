/**
 * Sessions that are being deleted. Each has a mark in svc's home from before the first of its files
 * goes until the last one is gone: a daemon that finds one at its start goes on with it.
 */
import { Marks } from "./marks.ts";

export class Deletions {
  readonly #marks: Marks;
  /** Deletions that started in this process; they cannot be undone. */
  readonly #begun = new Set<string>();

  /** @param dir where the marks are. */
  constructor(dir: string) {
    this.#marks = new Marks(dir);
  }

  /** Whether a session is deleted, or about to be. */
  has(id: string): boolean {
    return this.#begun.has(id);
  }

  /** The deletions that were cut off: the paths of the journals by the ids of their sessions. */
  left(): Map<string, string> {
    const left = this.#marks.read();
    for (const id of left.keys()) this.#begun.add(id);
    return left;
  }

  /** Starts a deletion that survives a power cut. @throws the system's error; nothing then starts */
  async begin(id: string, journal_path: string): Promise<void> {
    await this.#marks.put(id, journal_path, true);
    this.#begun.add(id);
  }

  /** Records that nothing of the session is left. */
  end(id: string): void {
    this.#marks.remove(id);
    this.#marks.sync();
  }
}
