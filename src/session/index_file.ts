/**
 * `sessions-index.json`: which sessions there are and where their journals lie (product.md,
 * daemon-level files). Written atomically, once for all changes that wait.
 */
import { atomicWrite } from "../platform/files.ts";

export interface IndexEntry {
  workdir: string;
  started_at: string;
  journal_path: string;
  last_seq: number;
}

export type IndexEntries = Record<string, IndexEntry>;

/** What {@linkcode IndexFile.read} says of a file that is not there, as before the first start. */
export const MISSING = "is missing";

export class IndexFile {
  readonly #path: string;
  readonly #entries: () => IndexEntries;
  /** Entries as they stand in the file: of thousands, only a few change between two writes. */
  readonly #texts = new WeakMap<IndexEntry, string>();
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  /**
   * @param entries what the file is to hold, asked at each write. An entry that was handed over
   * must not be changed, but replaced.
   */
  constructor(path: string, entries: () => IndexEntries) {
    this.#path = path;
    this.#entries = entries;
  }

  /**
   * Reads the file.
   *
   * @returns undefined when there is none, or none that can be used; `problem` says what is wrong.
   */
  async read(): Promise<{ entries?: IndexEntries; problem?: string }> {
    let text: string;
    try {
      text = await Deno.readTextFile(this.#path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return { problem: MISSING };
      throw error;
    }
    try {
      const entries: unknown = JSON.parse(text);
      return isEntries(entries) ? { entries } : { problem: "does not have the shape of an index" };
    } catch {
      return { problem: "is not valid JSON" };
    }
  }

  /** Writes the entries as they are when the write begins; resolves when they are on the disk. */
  save(): Promise<void> {
    if (this.#writing === undefined) return this.#writing = this.#write();
    return this.#next ??= this.#writing.catch(() => {}).then(() => {
      this.#next = undefined;
      return this.#writing = this.#write();
    });
  }

  async #write(): Promise<void> {
    try {
      await atomicWrite(this.#path, this.#text(), 0o600);
    } finally {
      // One that waits takes the place at once: two writes never run side by side.
      if (this.#next === undefined) this.#writing = undefined;
    }
  }

  #text(): string {
    const parts: string[] = [];
    const entries = this.#entries();
    for (const id in entries) {
      const entry = entries[id];
      let text = this.#texts.get(entry);
      if (text === undefined) {
        text = `${JSON.stringify(id)}:${JSON.stringify(entry)}`;
        this.#texts.set(entry, text);
      }
      parts.push(text);
    }
    return `{${parts.join(",")}}\n`;
  }
}

function isEntries(value: unknown): value is IndexEntries {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.values(value).every((entry) =>
      typeof entry === "object" && entry !== null && typeof entry.workdir === "string" &&
      typeof entry.started_at === "string" && typeof entry.journal_path === "string" &&
      Number.isSafeInteger(entry.last_seq)
    );
}
