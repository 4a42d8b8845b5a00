/** Sessions that the links in `~/.svc/journals` lead to; the index is rebuilt from them. */
import { join } from "@std/path";
import { linkIfAllowed, openOwnFile, readDirIfAny } from "../os/files.ts";
import type { IndexEntries, IndexEntry } from "./index_file.ts";

/** Points a link in `journals/` at a journal. */
export function linkJournal(journal_path: string, link: string): void {
  try {
    if (Deno.readLinkSync(link) === journal_path) return;
    Deno.removeSync(link);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  linkIfAllowed(journal_path, link);
}

/** The index entry for a link in `journals/`. */
export function linkedEntry(journal_links: string, id: string): IndexEntry {
  return entryAt(Deno.readLinkSync(join(journal_links, id)));
}

/** Index entries from the links in `journals/` and the folders they lead to. */
export function findJournals(journal_links: string): IndexEntries {
  const entries: IndexEntries = {};
  for (const link of Deno.readDirSync(journal_links)) {
    if (link.isSymlink) entries[link.name] = linkedEntry(journal_links, link.name);
  }
  for (const { journal_path } of Object.values(entries)) {
    const sessions = join(journal_path, "..", "..");
    for (const { name } of readDirIfAny(sessions)) {
      if (name in entries || !name.startsWith("sess_")) continue;
      const path = join(sessions, name, "journal.ndjson");
      if (wasUsed(path)) entries[name] = entryAt(path);
    }
  }
  return entries;
}

/** The index entry that a journal's path implies. */
export function entryAt(journal_path: string): IndexEntry {
  const workdir = join(journal_path, "..", "..", "..", "..");
  return { workdir, started_at: "", journal_path, last_seq: 0 };
}

/** Number of records that a session begins with; no client may know a session with only these. */
const FIRST_RECORDS = 2;
const FIRST_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Whether anything happened in a session after its creation. */
export function wasUsed(journal_path: string): boolean {
  try {
    using file = openOwnFile(journal_path);
    const bytes = new Uint8Array(FIRST_BYTES);
    const read = file.readSync(bytes) ?? 0;
    return read === FIRST_BYTES ||
      bytes.subarray(0, read).filter((it) => it === NEWLINE).length > FIRST_RECORDS;
  } catch {
    return false;
  }
}
