/**
 * Finds the files below a directory that run later ({@linkcode runsLater}), and the repositories in
 * it, whose hooks and configuration git runs. Links of other names are not followed.
 */
import { dirname, join, SEPARATOR } from "@std/path";
import { lacksForNow } from "../os/lacks.ts";
import { isWithin } from "../os/paths.ts";
import { modulesIn } from "./git_parts.ts";
import { isPlaceholder } from "./git_placeholders.ts";
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

/** Something that runs later. */
export interface LaterFile extends Later {
  /** Absolute. */
  path: string;
  /** A `repository` is a git directory, and so is a `module`: that of a submodule, in another one. */
  kind: "file" | "directory" | "repository" | "module";
  /** Differs once anything of it has changed; empty where nobody asked for it. */
  state: string;
}

/** What a search found. */
export interface LaterFiles {
  files: readonly LaterFile[];
  /** What other files lead to, whether it is there or not. */
  leads: Leads;
  /** Whether the directory has more entries than were looked at, or more such files. */
  cut: boolean;
}

/** Where to search. */
export interface LaterPlaces {
  /** The person's home directory, a real path. */
  home: string | undefined;
  /** Real paths that no tool sees. */
  hidden: ReadonlySet<string>;
}

/** How to search. */
export interface LaterSearch extends LaterPlaces {
  /** The most entries that are looked at. */
  max_entries: number;
  /** Whether to tell the states, which takes a look at each file. */
  states: boolean;
}

/** More of these than an event should name. */
const FILES_MAX = 5_000;
/** The most entries of a directory that runs later, or of a git directory, that tell its state. */
const STATE_ENTRIES_MAX = 5_000;
/** The most that are told one by one; the others are told as one number. */
const STATE_LINES_MAX = 500;
/** What is said of a directory with more entries. */
const PARTLY = `svc sees changes of its first ${STATE_ENTRIES_MAX} entries only`;

/**
 * Directories that package managers make and remove as a whole: nothing in them runs for being there,
 * and a mount in them would keep the package manager from its work.
 */
const PACKAGES = new Set(["node_modules", "site-packages", "bower_components", ".tox", ".nox"]);

/** What the kernel shows as files. */
const NO_FILES = new Set(["/proc", "/sys", "/dev"]);

/**
 * Searches breadth-first, because what is nearer to the top is more likely to be used.
 *
 * @param workdir an absolute real path
 * @returns yields after each directory, so that the caller can do something else in between
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

/** Finds what runs later by its name or as a repository; returns whether there is more. */
function* listed(
  workdir: string,
  search: LaterSearch,
  files: LaterFile[],
  finder: LeadFinder,
): Generator<void, boolean> {
  const { hidden, max_entries, states } = search;
  const home = search.home !== undefined && touch(search.home, workdir) ? search.home : undefined;
  const own = join(workdir, ".svc");
  const waiting = [workdir];
  let left = max_entries;
  for (let n = 0; n < waiting.length; n++) {
    const directory = waiting[n];
    const entries = namesIn(directory);
    const below = directory.endsWith(SEPARATOR) ? directory : directory + SEPARATOR;
    if (isGitDirectory(entries)) {
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
      // The directories above are none of them; names of several parts have three at most.
      const later = laterByName(lastParts(path)) ??
        (home === undefined ? undefined : laterAtHome(path, home));
      if (later !== undefined && later.only !== "asked") {
        const kind = isDirectory ? "directory" : "file";
        files.push(withState({ ...later, path, kind }, search));
        if (isSymlink) finder.link(path, later);
        else if (isDirectory) finder.linksIn(path, later);
      } else if (isSymlink) finder.linkAbove(path, name);
      else if (isDirectory && !PACKAGES.has(name)) waiting.push(path);
    }
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

const GIT_DIRECTORY = ["HEAD", "objects", "refs"];

/** Whether git takes a directory itself for a repository, as one without a working tree is. */
function isGitDirectory(entries: readonly Deno.DirEntry[]): boolean {
  return GIT_DIRECTORY.every((needed) => entries.some(({ name }) => name === needed));
}

/** @param inside what is in it; undefined for a file that points to one */
function repository(path: string, inside: GitListing | undefined, states: boolean): LaterFile {
  const state = !states ? "" : inside === undefined ? stateOf(path) : gitState(path, inside);
  return { ...BY_GIT, path, kind: "repository", state };
}

/** The state of what a git directory makes git run. */
function gitState(git: string, { entries, info, hooks }: GitListing): string {
  // To ask for a file that is missing takes much longer than to list the names.
  const there = new Set(entries.map(({ name }) => name));
  for (const { name } of info) there.add(`info/${name}`);
  return GIT_RUNS.filter((name) => there.has(name)).flatMap((name) => {
    const at = join(git, name);
    const state = isPlaceholder(at) ? "" : stateOf(at, name === "hooks" ? hooks : undefined);
    return state === "" ? [] : [`${name}${state}`];
  }).join();
}

/**
 * The state of a file, or of all files in a directory; empty for what is not there.
 *
 * @param listed what is in the directory, where that is known already
 */
function stateOf(path: string, listed?: readonly Deno.DirEntry[]): string {
  const states: string[] = [];
  const waiting = [path];
  let others = 0;
  for (let n = 0; n < waiting.length && n < STATE_ENTRIES_MAX; n++) {
    const at = waiting[n];
    try {
      const { isDirectory, isSymlink, size, mtime, ctime, ino } = Deno.lstatSync(at);
      if (isDirectory) {
        const entries = n === 0 && listed !== undefined ? listed : namesIn(at);
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
      // It was removed meanwhile, or nobody but its owner may look.
    }
  }
  if (waiting.length > STATE_LINES_MAX) states.push(`${waiting.length}:${others}`);
  if (waiting.length > STATE_ENTRIES_MAX) states.push(PARTLY);
  return states.join("\n");
}

/** A number that differs where one of the texts does; who writes a file cannot choose its `ctime`. */
function mixed(number: number, text: string): number {
  let mixture = number;
  for (let n = 0; n < text.length; n++) mixture = Math.imul(mixture ^ text.charCodeAt(n), 16777619);
  return mixture;
}

/** What of files to tell apart, which a search asks for. */
function withState(
  file: Omit<LaterFile, "state">,
  { states }: Pick<LaterSearch, "states">,
): LaterFile {
  const state = states ? stateOf(file.path) : "";
  const partly = state.endsWith(PARTLY);
  return { ...file, ...partly && { runner: `${file.runner}; ${PARTLY}` }, state };
}

/** The entries of a directory; none of one that cannot be read. */
function namesIn(directory: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(directory)];
  } catch (error) {
    if (lacksForNow(error)) throw error;
    return [];
  }
}
