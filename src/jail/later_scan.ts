/**
 * Finds the files below a directory that run later ({@linkcode runsLater}), and the repositories in
 * it, whose hooks and configuration git runs. Links are named but not followed.
 */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import { modulesIn } from "./git_parts.ts";
import { isPlaceholder } from "./git_placeholders.ts";
import {
  GIT_RUNNER,
  GIT_RUNS,
  type Later,
  laterAtHome,
  laterByName,
  runsLater,
} from "./runs_later.ts";

/** Something that runs later. */
export interface LaterFile extends Later {
  /** Absolute. */
  path: string;
  /** A `repository` is a git directory, and so is a `module`: that of a submodule, in another one. */
  kind: "file" | "directory" | "repository" | "module";
  /** Differs once anything of it has changed. */
  state: string;
}

/** What a search found. */
export interface LaterFiles {
  files: readonly LaterFile[];
  /** Whether the directory has more entries than were looked at, or more such files. */
  cut: boolean;
}

export interface LaterSearch {
  /** The person's home directory, a real path. */
  home: string | undefined;
  /** Real paths that no tool sees. */
  hidden: ReadonlySet<string>;
  /** The most entries that are looked at. */
  max_entries: number;
}

/** More of these than anyone reads, or than a command should be slowed down by. */
const FILES_MAX = 1_000;
/** The most entries of a directory that runs later, or of a git directory, that tell its state. */
const STATE_ENTRIES_MAX = 500;

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
  const { hidden, max_entries } = search;
  const whole = runsLater(workdir, search.home);
  if (whole !== undefined && whole.only === undefined) {
    const file: LaterFile = { ...whole, path: workdir, kind: "directory", state: stateOf(workdir) };
    return { files: [file], cut: false };
  }
  const home = search.home !== undefined && touch(search.home, workdir) ? search.home : undefined;
  const files: LaterFile[] = [];
  const waiting = [workdir];
  let left = max_entries;
  for (let n = 0; n < waiting.length; n++) {
    const directory = waiting[n];
    const entries = namesIn(directory);
    if (isGitDirectory(entries)) {
      files.push(repository(directory, true));
      if (directory !== workdir) continue;
    }
    for (const { name, isDirectory } of entries) {
      if (left-- <= 0 || files.length >= FILES_MAX) return { files, cut: true };
      const path = join(directory, name);
      if (hidden.has(path) || name === ".svc" || NO_FILES.has(path)) continue;
      if (name === ".git") {
        files.push(repository(path, isDirectory));
        if (isDirectory) {
          files.push(
            ...modulesIn(join(path, "modules")).map((dir): LaterFile => {
              return { ...repository(dir, true), kind: "module" };
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
        files.push({ ...later, path, kind, state: stateOf(path) });
      } else if (isDirectory && !PACKAGES.has(name)) waiting.push(path);
    }
    yield;
  }
  return { files, cut: false };
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

/** Whether git takes a directory itself for a repository, as one without a working tree is. */
function isGitDirectory(entries: readonly Deno.DirEntry[]): boolean {
  const names = new Set(entries.map(({ name }) => name));
  return ["HEAD", "objects", "refs"].every((name) => names.has(name));
}

function repository(path: string, is_directory: boolean): LaterFile {
  const state = is_directory ? gitState(path) : stateOf(path);
  return { runner: GIT_RUNNER, path, kind: "repository", state };
}

/** The state of what a git directory makes git run. */
function gitState(git: string): string {
  // To ask for a file that is missing takes much longer than to list the names.
  const there = new Set(namesIn(git).map(({ name }) => name));
  for (const { name } of there.has("info") ? namesIn(join(git, "info")) : []) {
    there.add(`info/${name}`);
  }
  return GIT_RUNS.filter((name) => there.has(name)).flatMap((name) => {
    const at = join(git, name);
    const state = isPlaceholder(at) ? "" : stateOf(at);
    return state === "" ? [] : [`${name}${state}`];
  }).join();
}

/** The state of a file, or of all files in a directory; empty for what is not there. */
function stateOf(path: string): string {
  const states: string[] = [];
  const waiting = [path];
  for (let n = 0; n < waiting.length && n < STATE_ENTRIES_MAX; n++) {
    const at = waiting[n];
    try {
      const { isDirectory, isSymlink, size, mtime, ctime, ino } = Deno.lstatSync(at);
      if (isDirectory) waiting.push(...namesIn(at).map(({ name }) => join(at, name)).sort());
      else {
        const target = isSymlink ? Deno.readLinkSync(at) : size;
        states.push(`${at.slice(path.length)}:${ino}:${+(mtime ?? 0)}:${+(ctime ?? 0)}:${target}`);
      }
    } catch {
      // It was removed meanwhile, or nobody but its owner may look.
    }
  }
  return states.join("\n");
}

/** The entries of a directory; none of one that cannot be read. */
function namesIn(directory: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(directory)];
  } catch {
    return [];
  }
}
