/**
 * What a clean stop leaves for the next start: what has to be known of the sessions before one is
 * asked for. With it a start reads neither their index nor their journals, however many there are.
 */
import { atomicWrite } from "../os/files.ts";
import type { IndexEntries } from "./index_file.ts";

export interface RestNote {
  form: number;
  /** The versions of the index files that it stands for. */
  files: string[];
  /** Number of sessions that have not ended. */
  open: number;
  /** Bytes of the largest journal, and when the oldest event of all of them happened. */
  size: number;
  oldest_at?: string;
  /** The sessions that the next daemon takes up by itself. */
  wake: IndexEntries;
}

const FORM = 1;

/** The note for sessions that are as the index files say. */
export function noteOf(entries: IndexEntries, open: number, files: string[]): RestNote {
  const note: RestNote = { form: FORM, files, open, size: 0, wake: {} };
  for (const id in entries) {
    const entry = entries[id];
    const { known } = entry;
    if (known?.busy || known?.stopped) note.wake[id] = entry;
    const { size = 0, oldest_at } = known?.journal ?? {};
    if (oldest_at === undefined) continue;
    note.size = Math.max(note.size, size);
    if (note.oldest_at === undefined || oldest_at < note.oldest_at) note.oldest_at = oldest_at;
  }
  return note;
}

/** Reads a note; undefined when there is none, or it is not of these versions of the index files. */
export function readNote(path: string, files: readonly string[]): RestNote | undefined {
  try {
    const note = JSON.parse(Deno.readTextFileSync(path)) as RestNote;
    const same = note.form === FORM && note.files.length === files.length &&
      note.files.every((version, n) => version === files[n]);
    return same ? note : undefined;
  } catch {
    // Without it the index is read.
    return undefined;
  }
}

/** Leaves a note. What a power cut may leave of it does not parse. */
export async function writeNote(path: string, note: RestNote): Promise<void> {
  await atomicWrite(path, JSON.stringify(note), 0o600, { durable: false });
}

/** What tells one version of an index file from another; empty when there is none. */
export function versionOf(path: string): string {
  try {
    const { ino, size, mtime, ctime } = Deno.lstatSync(path);
    return [ino, size, mtime?.getTime(), ctime?.getTime()].join(" ");
  } catch {
    return "";
  }
}
