/**
 * Sessions being deleted. Each has a mark in svc's home until its last file is gone, so the next
 * daemon can continue.
 */
import { Marks } from "./marks.ts";

export class Deletions {
  readonly #marks: Marks;
  /** Deletions of this process; they cannot be undone. */
  readonly #begun = new Set<string>();

  constructor(dir: string) {
    this.#marks = new Marks(dir);
  }

  /** Whether a session is deleted or being deleted. */
  has(id: string): boolean {
    return this.#begun.has(id);
  }

  /** Interrupted deletions: paths of the journals by session id. */
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

  /** Records that the deletion is complete. */
  end(id: string): void {
    this.#marks.remove(id);
    this.#marks.sync();
  }
}
