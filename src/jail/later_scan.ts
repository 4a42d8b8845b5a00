/**
 * Finds the files below a directory that run later ({@linkcode runsLater}), and its repositories,
 * whose hooks and configuration git runs. Follows no other links.
 */
import { dirname, join, SEPARATOR } from "@std/path";
import { readDirIfAllowed } from "../os/files.ts";
import { lacksForNow } from "../os/lacks.ts";
import { isWithin } from "../os/paths.ts";
import { modulesIn } from "./git_parts.ts";
import { isPlaceholder } from "./git_placeholders.ts";
import { type Concerns, listDirectory, type Listings } from "./later_listings.ts";
import { type GitListing, gitListing, hasName, LeadFinder } from "./later_leads.ts";
import {
  BY_GIT,
  GIT_RUNS,
  type Later,
  laterAtHome,
  laterByName,
  type Leads,
  runsLater,
} from "./runs_later.ts";

export interface LaterFile extends Later {
  /** Absolute. */
  path: string;
  /** Both are git directories; a `module` is that of a submodule inside another. */
  kind: "file" | "directory" | "repository" | "module";
  /** Changes with any change of the file; empty if not requested. */
  state: string;
}

export interface LaterFiles {
  files: readonly LaterFile[];
  /** What other files lead to, existing or not. */
  leads: Leads;
  /** Whether a limit ended the search. */
  cut: boolean;
}

export interface LaterPlaces {
  /** A real path. */
  home: string | undefined;
  /** Real paths that no tool sees. */
  hidden: ReadonlySet<string>;
}

export interface LaterSearch extends LaterPlaces {
  /** Entries to look at. */
  max_entries: number;
  /** Whether to compute the states, which reads the metadata of each file. */
  states: boolean;
  /** Of an earlier search with the same places: then only what has changed is read. */
  listings?: Listings;
}

/** More than an event should name. */
const FILES_MAX = 5_000;
/** Entries of a directory that count for its state. */
const STATE_ENTRIES_MAX = 5_000;
/** Entries listed one by one; the others become one number. */
const STATE_LINES_MAX = 500;
const PARTLY = `svc sees changes of its first ${STATE_ENTRIES_MAX} entries only`;

/**
 * Package managers make and remove these as a whole. Nothing in them runs by itself, and a mount
 * inside would block the package manager.
 */
const PACKAGES = new Set(["node_modules", "site-packages", "bower_components", ".tox", ".nox"]);

const NO_FILES = new Set(["/proc", "/sys", "/dev"]);

/**
 * Searches breadth-first, because files near the top are more likely to be used. Yields after each
 * directory, so that the caller can do other work.
 *
 * @param workdir an absolute real path
 */
export function* laterFiles(workdir: string, search: LaterSearch): Generator<void, LaterFiles> {
  const whole = runsLater(workdir, search.home);
  if (whole !== undefined && whole.only === undefined) {
    const file = withState({ ...whole, path: workdir, kind: "directory" }, search);
    return { files: [file], leads: new Map(), cut: false };
  }
  const finder = new LeadFinder(workdir, search.home);
  try {
    finder.atHome();
    finder.around();
    const files: LaterFile[] = [];
    const cut = yield* listed(workdir, search, files, finder);
    const { leads } = finder;
    const listed_paths = new Set(files.map(({ path }) => path));
    const led = [...leads].flatMap(([path, later]): LaterFile[] => {
      const kind = kindOf(path);
      if (kind === undefined || listed_paths.has(path) || isHidden(path, search.hidden)) return [];
      return [withState({ ...later, path, kind }, search)];
    });
    return { files: [...led, ...files], leads, cut };
  } finally {
    finder[Symbol.dispose]();
  }
}

/** Finds what runs later by name, and repositories. @returns whether a limit ended the search */
function* listed(
  workdir: string,
  search: LaterSearch,
  files: LaterFile[],
  finder: LeadFinder,
): Generator<void, boolean> {
  const { hidden, max_entries, states, listings } = search;
  const home = search.home !== undefined && touch(search.home, workdir) ? search.home : undefined;
  const own = join(workdir, ".svc");
  // No parent matches, and names have at most three parts.
  const laterOf = (path: string) =>
    laterByName(lastParts(path)) ?? (home === undefined ? undefined : laterAtHome(path, home));
  const waiting = [workdir];
  let left = max_entries;
  for (let n = 0; n < waiting.length; n++) {
    const directory = waiting[n];
    const below = directory.endsWith(SEPARATOR) ? directory : directory + SEPARATOR;
    const concerns: Concerns = ({ name, isDirectory, isSymlink }) =>
      isDirectory || isSymlink || name === ".git" || laterOf(below + name) !== undefined;
    const { entries, count, is_git } = listings?.of(directory, concerns) ??
      listDirectory(directory, concerns);
    if (is_git) {
      const inside = gitListing(directory);
      files.push(repository(directory, inside, states));
      finder.git(directory, directory, inside);
      if (directory !== workdir) continue;
    }
    for (const { name, isDirectory, isSymlink } of entries) {
      if (left-- <= 0 || files.length >= FILES_MAX) return true;
      const path = below + name;
      if (hidden.has(path) || path === own || NO_FILES.has(path)) continue;
      if (name === ".git") {
        const inside = isDirectory ? gitListing(path) : undefined;
        files.push(repository(path, inside, states));
        finder.git(path, directory, inside);
        if (inside !== undefined && hasName(inside.entries, "modules")) {
          files.push(
            ...modulesIn(join(path, "modules")).map((dir): LaterFile => {
              const listed = states ? gitListing(dir) : undefined;
              return { ...repository(dir, listed, states), kind: "module" };
            }),
          );
        }
        continue;
      }
      const later = laterOf(path);
      if (later !== undefined && later.only !== "asked") {
        const kind = isDirectory ? "directory" : "file";
        files.push(withState({ ...later, path, kind }, search));
        if (isSymlink) finder.link(path, later);
        else if (isDirectory) finder.linksIn(path, later);
      } else if (isSymlink) finder.linkAbove(path, name);
      else if (isDirectory && !PACKAGES.has(name)) waiting.push(path);
    }
    left -= count - entries.length;
    if (left < 0) return true;
    yield;
  }
  return false;
}

function isHidden(path: string, hidden: ReadonlySet<string>): boolean {
  for (let at = path; dirname(at) !== at; at = dirname(at)) if (hidden.has(at)) return true;
  return false;
}

function kindOf(path: string): "file" | "directory" | undefined {
  try {
    return Deno.lstatSync(path).isDirectory ? "directory" : "file";
  } catch {
    return undefined;
  }
}

function touch(one: string, other: string): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/** The last four names of a path. */
function lastParts(path: string): string {
  let at = path.length;
  for (let n = 0; n < 4 && at > 0; n++) at = path.lastIndexOf("/", at - 1);
  return path.slice(Math.max(at, 0));
}

/** @param inside its contents; undefined for a file that points to a repository */
function repository(path: string, inside: GitListing | undefined, states: boolean): LaterFile {
  const state = !states ? "" : inside === undefined ? stateOf(path) : gitState(path, inside);
  return { ...BY_GIT, path, kind: "repository", state };
}

/** The state of the files that git runs. */
function gitState(git: string, { entries, info, hooks }: GitListing): string {
  // Listing is faster than asking for missing files.
  const there = new Set(entries.map(({ name }) => name));
  for (const { name } of info) there.add(`info/${name}`);
  return GIT_RUNS.filter((name) => there.has(name)).flatMap((name) => {
    const at = join(git, name);
    const state = isPlaceholder(at) ? "" : stateOf(at, name === "hooks" ? hooks : undefined);
    return state === "" ? [] : [`${name}${state}`];
  }).join();
}

/** The state of a file, or of all files in a directory; empty if it is missing. */
function stateOf(path: string, listed?: readonly Deno.DirEntry[]): string {
  const states: string[] = [];
  const waiting = [path];
  let others = 0;
  for (let n = 0; n < waiting.length && n < STATE_ENTRIES_MAX; n++) {
    const at = waiting[n];
    try {
      const { isDirectory, isSymlink, size, mtime, ctime, ino } = Deno.lstatSync(at);
      if (isDirectory) {
        const entries = n === 0 && listed !== undefined ? listed : readDirIfAllowed(at);
        waiting.push(...entries.map(({ name }) => join(at, name)).sort());
      } else {
        const target = isSymlink ? Deno.readLinkSync(at) : size;
        const name = at.slice(path.length);
        const state = `${name}:${ino}:${+(mtime ?? 0)}:${+(ctime ?? 0)}:${target}`;
        if (n < STATE_LINES_MAX) states.push(state);
        else others = mixed(others, state);
      }
    } catch (error) {
      if (lacksForNow(error)) throw error;
      // Removed meanwhile, or only its owner may look.
    }
  }
  if (waiting.length > STATE_LINES_MAX) states.push(`${waiting.length}:${others}`);
  if (waiting.length > STATE_ENTRIES_MAX) states.push(PARTLY);
  return states.join("\n");
}

/** A hash of the texts. A file's writer cannot choose its `ctime`, so it need not be strong. */
function mixed(number: number, text: string): number {
  let mixture = number;
  for (let n = 0; n < text.length; n++) mixture = Math.imul(mixture ^ text.charCodeAt(n), 16777619);
  return mixture;
}

function withState(
  file: Omit<LaterFile, "state">,
  { states }: Pick<LaterSearch, "states">,
): LaterFile {
  const state = states ? stateOf(file.path) : "";
  const partly = state.endsWith(PARTLY);
  return { ...file, ...partly && { runner: `${file.runner}; ${PARTLY}` }, state };
}
