/**
 * Remembers what each conversation, a session's or a subagent's, last saw of its files. A write is
 * refused if anyone else has changed the file since.
 */
import { isAbsolute, join, normalize } from "@std/path";
import type { FileChanged, FileSeen, UnitResult } from "./protocol.ts";

/** Over all sessions; the oldest is forgotten first. */
const FILES_MAX = 5_000;
/** Characters of all texts. */
const CHARS_MAX = 8 * 1024 * 1024;
/** Longest difference shown to a model, in characters. */
const SHOWN_MAX = 8 * 1024;

export class KnownFiles {
  /** Oldest first. */
  readonly #files = new Map<string, FileSeen>();
  #chars = 0;

  /** Returns what a conversation last saw of these files, by the paths in its call. */
  of(reader: string, workdir: string, paths: readonly string[]): FileSeen[] {
    return paths.flatMap((path) => {
      const seen = this.#files.get(keyOf(reader, workdir, path));
      return seen === undefined ? [] : [{ ...seen, path }];
    });
  }

  /** Remembers what a call read or wrote. */
  note(reader: string, workdir: string, { files = [] }: UnitResult): void {
    for (const file of files) {
      const key = keyOf(reader, workdir, file.path);
      this.#forget(key);
      this.#files.set(key, file);
      this.#chars += file.text?.length ?? 0;
    }
    for (const [key] of this.#files) {
      if (this.#files.size <= FILES_MAX && this.#chars <= CHARS_MAX) break;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#chars -= this.#files.get(key)?.text?.length ?? 0;
    this.#files.delete(key);
  }
}

function keyOf(reader: string, workdir: string, path: string): string {
  return `${reader} ${normalize(isAbsolute(path) ? path : join(workdir, path))}`;
}

/**
 * Describes to a model how a file has changed since it was last read.
 *
 * @returns the text, and whether it shows the whole change, so that the file counts as read
 */
export async function describeChange(
  { path, before, now }: FileChanged,
): Promise<{ text: string; whole: boolean }> {
  const refused = `${path}: has changed since it was last read; nothing was written.`;
  const again = `${refused} Read it again.`;
  if (before === undefined || now?.text === undefined) return { text: again, whole: false };
  const { createPatch } = await import("diff");
  const patch = createPatch(path, before, now.text, "when you read it", "now");
  if (patch.length > SHOWN_MAX) return { text: again, whole: false };
  return { text: `${refused} This changed:\n${patch}`, whole: true };
}
