/**
 * Finds a session's directory after it was renamed or moved. Its identity is known, so only places
 * near the old path and near other workdirs are searched.
 */
import { deadline } from "@std/async";
import { basename, dirname, join } from "@std/path";
import { directoryAt, isSameDirectory, lookForDirectory } from "../os/directory_identity.ts";
import { exists } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import type { DirectoryIdentity } from "../protocol/event_data.ts";
import { checkWorkdir } from "./workdir.ts";

/** A session whose directory is missing. */
export interface Lost {
  id: string;
  workdir: string;
  journal_path: string;
  /** The directory's identity; undefined where only the journal has it. */
  directory?: DirectoryIdentity;
}

/** Where a session continues. */
export interface Found {
  workdir: string;
  journal_path: string;
  /** Set when it may be another directory than the session had. */
  certain?: true;
  by: string;
}

/** Limits of one search: entries of a directory, and paths in all. */
const ENTRIES_MAX = 1_000;
const PATHS_MAX = 4_000;
const AT_ONCE = 64;
/** A disk that does not answer ends the search. */
const SEARCH_MS = 2_000;

/**
 * Returns where a session's directory may be now, likeliest first; never svc's home. Returns
 * undefined after a timeout.
 */
export async function findLost(
  lost: Lost,
  near: readonly string[],
  home: string,
): Promise<Found[] | undefined> {
  return await deadline(look(lost, near, home), SEARCH_MS).catch(() => undefined);
}

async function look(lost: Lost, near: readonly string[], home: string): Promise<Found[]> {
  const found: Found[] = [];
  const paths = [...new Set(placesOf(lost.workdir, near))].slice(0, PATHS_MAX);
  for (let at = 0; at < paths.length && found.length === 0; at += AT_ONCE) {
    await Promise.all(
      paths.slice(at, at + AT_ONCE).map(async (path) => {
        if (path === lost.workdir || isWithin(path, home)) return;
        const directory = await lookForDirectory(path);
        if (directory === undefined || !mayBe(lost, directory)) return;
        const journal_path = journalIn(path, lost);
        if (journal_path === undefined) return;
        // With neither a journal in it nor a creation time, it could be another directory.
        const is_sure = journal_path !== lost.journal_path || directory.made_ms !== undefined;
        const workdir = await checkWorkdir(path, home).catch(() => undefined);
        if (is_sure && workdir !== undefined) found.push({ workdir, journal_path, by: "svc" });
      }),
    );
  }
  return found;
}

function mayBe({ directory }: Lost, there: DirectoryIdentity): boolean {
  return directory === undefined || isSameDirectory(directory, there);
}

/** Changes when a likely directory does; until then a search finds nothing new. */
export function stateOfSearch({ workdir }: Lost, near: readonly string[]): string {
  const { parent } = gone(workdir);
  const times = [parent, dirname(parent)].map((path) => {
    try {
      return Deno.statSync(path).mtime?.getTime();
    } catch {
      return undefined;
    }
  });
  return [directoryAt(workdir)?.ino, ...times, ...near].join("\n");
}

function* placesOf(workdir: string, near: readonly string[]): Generator<string> {
  // A link to it may remain.
  yield* realPath(workdir);
  const { parent, name, below } = gone(workdir);
  for (const around of new Set([parent, dirname(parent)])) {
    for (const each of directoriesIn(around)) {
      // Renamed, or moved into a sibling.
      yield join(around, each, ...below);
      yield join(around, each, name, ...below);
    }
  }
  const tails = workdir.split("/").filter(Boolean);
  for (const each of near) {
    yield each;
    yield join(dirname(each), name, ...below);
    for (let from = tails.length - 1; from > 0; from--) yield join(each, ...tails.slice(from));
  }
}

/** The first missing part of a path, or the last part if none is missing. */
function gone(workdir: string): { parent: string; name: string; below: string[] } {
  const below: string[] = [];
  let path = workdir;
  for (; !isThere(dirname(path)); path = dirname(path)) below.unshift(basename(path));
  return { parent: dirname(path), name: basename(path), below };
}

function isThere(path: string): boolean {
  try {
    return dirname(path) === path || exists(path);
  } catch {
    return true;
  }
}

function realPath(path: string): string[] {
  try {
    return [Deno.realPathSync(path)];
  } catch {
    return [];
  }
}

function directoriesIn(path: string): string[] {
  try {
    const names: string[] = [];
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      if (isDirectory) names.push(name);
      if (names.length === ENTRIES_MAX) break;
    }
    return names;
  } catch {
    return [];
  }
}

/** Returns a session's journal: where it was, or in the moved directory or one around it. */
export function journalIn(
  directory: string,
  { id, workdir, journal_path }: Omit<Lost, "directory">,
): string | undefined {
  const stays = !isWithin(journal_path, workdir) && isFile(journal_path);
  if (stays) return journal_path;
  for (let path = directory;; path = dirname(path)) {
    const journal = journalAt(path, id);
    if (isFile(journal)) return journal;
    if (dirname(path) === path) return undefined;
  }
}

/** Path of a session's journal in a directory's `.svc`. */
export function journalAt(directory: string, id: string): string {
  return join(directory, ".svc", "sessions", id, "journal.ndjson");
}

/** Whether a path is a regular file, not a link to one. */
export function isFile(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile;
  } catch {
    return false;
  }
}
