/** Completes or rebuilds the sessions index from the journals. */
import { basename, join } from "@std/path";
import { messageOf } from "../protocol/errors.ts";
import { linkIfAllowed, readDirIfAny } from "../os/files.ts";
import type { HubParts } from "./hub_parts.ts";
import { type IndexEntries, MISSING } from "./index_file.ts";
import { findJournals, linkedEntry } from "./journal_links.ts";

type RepairParts = Pick<HubParts, "index_path" | "journal_links" | "log">;

/**
 * Adds linked sessions that an index lacks. A session that was being made at a crash may be in the
 * index without a link; it gets one, so that it survives the loss of the index.
 */
export function completedIndex(entries: IndexEntries, parts: RepairParts): IndexEntries {
  const { journal_links, index_path, log } = parts;
  const links = readDirIfAny(journal_links).filter(({ isSymlink }) => isSymlink);
  const linked = new Set(links.map(({ name }) => name));
  for (const [id, { journal_path }] of Object.entries(entries)) {
    if (!linked.has(id)) linkLate(id, journal_path, parts);
  }
  const lost = links.filter(({ name }) => !Object.hasOwn(entries, name));
  if (lost.length === 0) return entries;
  log.warn("the sessions index was incomplete; completed it from the journals", {
    path: index_path,
    sessions: lost.length,
  });
  const found = { ...entries };
  for (const { name } of lost) found[name] = linkedEntry(journal_links, name);
  return found;
}

/** Links a session's journal; if that fails, opening it links it. */
function linkLate(id: string, journal_path: string, { journal_links, log }: RepairParts): void {
  try {
    linkIfAllowed(journal_path, join(journal_links, basename(id)));
  } catch (error) {
    log.warn("cannot link a session's journal", { session_id: id, error: messageOf(error) });
  }
}

/** Rebuilds the index from the journals found. @param problem what is wrong with the file */
export function rebuiltIndex(
  problem: string,
  { journal_links, index_path, log }: RepairParts,
): IndexEntries {
  const entries = findJournals(journal_links);
  const sessions = Object.keys(entries).length;
  if (sessions > 0 || problem !== MISSING) {
    log.warn(`the sessions index ${problem}; rebuilt it from the journals`, {
      path: index_path,
      sessions,
    });
  }
  return entries;
}
