/**
 * The note of a clean stop: what the next start must know of the sessions. With it, a start reads
 * neither their index nor their journals.
 */
import { atomicWrite } from "../os/files.ts";
import type { IndexEntries } from "./index_file.ts";

export interface RestNote {
  form: number;
  /** Versions of the index files that it matches. */
  files: string[];
  open: number;
  /** Bytes of the largest journal, and time of the oldest event in any. */
  size: number;
  oldest_at?: string;
  /** Sessions that the next daemon resumes by itself. */
  wake: IndexEntries;
}

const FORM = 1;

/** The note for sessions as in the index files. */
export function noteOf(entries: IndexEntries, open: number, files: string[]): RestNote {
  const note: RestNote = { form: FORM, files, open, size: 0, wake: {} };
  for (const id in entries) {
    const entry = entries[id];
    const { known } = entry;
    if (known?.busy || known?.stopped || known?.temporary) note.wake[id] = entry;
    const { size = 0, oldest_at } = known?.journal ?? {};
    if (oldest_at === undefined) continue;
    note.size = Math.max(note.size, size);
    if (note.oldest_at === undefined || oldest_at < note.oldest_at) note.oldest_at = oldest_at;
  }
  return note;
}

/** Reads a note; undefined when it is missing or does not match the index files. */
export function readNote(path: string, files: readonly string[]): RestNote | undefined {
  try {
    const note = JSON.parse(Deno.readTextFileSync(path)) as RestNote;
    const same = note.form === FORM && note.files.length === files.length &&
      note.files.every((version, n) => version === files[n]);
    return same ? note : undefined;
  } catch {
    // Then the index is read.
    return undefined;
  }
}

/** Writes a note. After a power cut it may not parse. */
export async function writeNote(path: string, note: RestNote): Promise<void> {
  await atomicWrite(path, JSON.stringify(note), 0o600, { durable: false });
}

/** Identifies the version of a file; empty when it is missing. */
export function versionOf(path: string): string {
  try {
    const { ino, size, mtime, ctime } = Deno.lstatSync(path);
    return [ino, size, mtime?.getTime(), ctime?.getTime()].join(" ");
  } catch {
    return "";
  }
}
