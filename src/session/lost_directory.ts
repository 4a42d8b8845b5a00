/**
 * Where the directory of a session is that was renamed or moved. It is known by what it is, so only
 * places close to where it was, and to where people work, are looked at.
 */
import { deadline } from "@std/async";
import { basename, dirname, join } from "@std/path";
import { directoryAt, isSameDirectory, lookForDirectory } from "../os/directory_identity.ts";
import { exists } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import type { DirectoryIdentity } from "../protocol/event_data.ts";
import { checkWorkdir } from "./workdir.ts";

/** A session whose directory is not where it was. */
export interface Lost {
  id: string;
  workdir: string;
  journal_path: string;
  /** What the directory is; unknown where nothing but the journal says it. */
  directory?: DirectoryIdentity;
}

/** Where a session goes on. */
export interface Found {
  workdir: string;
  journal_path: string;
  /** Whether it need not be the directory that the session had. */
  certain?: true;
  /** Who has said so. */
  by: string;
}

/** Entries of one directory, and paths in all, that are looked at for one session. */
const ENTRIES_MAX = 1_000;
const PATHS_MAX = 4_000;
const AT_ONCE = 64;
/** A disk that does not answer ends the search. */
const SEARCH_MS = 2_000;

/**
 * Returns where a session's directory may be now, the likeliest first; the home of svc never is.
 *
 * @returns undefined when that took too long.
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
        // With neither a journal in it nor the time at which it was made, it could be another one.
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

/** Changes when one of the directories does that are looked at first: before, a search finds nothing. */
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
  // A link to it may have been left.
  yield* realPath(workdir);
  const { parent, name, below } = gone(workdir);
  for (const around of new Set([parent, dirname(parent)])) {
    for (const each of directoriesIn(around)) {
      // Renamed, or moved into one beside it.
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

/** The first part of a path that is missing; the last one where all of it is there. */
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

/**
 * Returns the journal of a session whose directory is at a path now: in it, or in a directory around
 * it. One that is not in the session's own directory may be where it was.
 */
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

/** The path of a session's journal in the `.svc` of a directory. */
export function journalAt(directory: string, id: string): string {
  return join(directory, ".svc", "sessions", id, "journal.ndjson");
}

/** Whether there is a regular file at a path, not a link to one. */
export function isFile(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile;
  } catch {
    return false;
  }
}
