/**
 * What each session last saw of the files it works on, so that nothing is written over what a person,
 * a command or another session changed meanwhile.
 */
import { isAbsolute, join, normalize } from "@std/path";
import type { FileChanged, FileSeen, UnitResult } from "./protocol.ts";

/** Files remembered, of all sessions together; the one used longest ago is forgotten. */
const FILES_MAX = 5_000;
/** Of their texts, in characters. */
const CHARS_MAX = 8 * 1024 * 1024;
/** Of a difference, which is for a model to read. */
const SHOWN_MAX = 8 * 1024;

export class SeenFiles {
  /** The one used longest ago first. */
  readonly #files = new Map<string, FileSeen>();
  #chars = 0;

  /** What a session saw of files, by paths as its call names them. */
  of(session_id: string, workdir: string, paths: readonly string[]): FileSeen[] {
    return paths.flatMap((path) => {
      const seen = this.#files.get(keyOf(session_id, workdir, path));
      return seen === undefined ? [] : [{ ...seen, path }];
    });
  }

  /** Remembers what a call read or wrote. */
  note(session_id: string, workdir: string, { files = [] }: UnitResult): void {
    for (const file of files) {
      const key = keyOf(session_id, workdir, file.path);
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

function keyOf(session_id: string, workdir: string, path: string): string {
  return `${session_id} ${normalize(isAbsolute(path) ? path : join(workdir, path))}`;
}

/**
 * What a model is told of a file that has changed since it was last read.
 *
 * @returns the text, and whether it shows the whole change: then the file counts as read
 */
export async function describeChange(
  { path, before, now }: FileChanged,
): Promise<{ text: string; whole: boolean }> {
  const refused = `${path}: has changed since it was last read; nothing was written.`;
  const again = `${refused} Read it again.`;
  if (before === undefined || now?.text === undefined) return { text: again, whole: false };
  const { createPatch } = await import("diff");
  const patch = createPatch(path, before, now.text, "as it was read", "as it is now");
  if (patch.length > SHOWN_MAX) return { text: again, whole: false };
  return { text: `${refused} This changed:\n${patch}`, whole: true };
}
