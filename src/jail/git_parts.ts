/**
 * The parts of a git directory that a command can write. Objects, refs, index and HEAD stay
 * writable. Files that name programs for git to run, or other settings, are mounted read-only; for
 * missing ones there is a placeholder ({@linkcode hold}). Each directory above them is a mount
 * point, so that it cannot be moved and made anew. If that fails, the whole directory is read-only.
 */
import { dirname, join } from "@std/path";
import { readDirIfAny } from "../os/files.ts";
import { lacksForNow } from "../os/lacks.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { hold } from "./git_placeholders.ts";

/** Above this number of submodules or working trees, all of them are read-only. */
const PARTS_MAX = 50;
/** Directories searched for submodules; a hostile tree could be endless. */
const VISITS_MAX = 1_000;
/** Bytes of a configuration that are searched. */
const CONFIG_MAX = 256 * 1024;

/** Files that can name programs for git to run, or other settings. */
const NAMING = ["config", "config.worktree", "commondir", "info/attributes"];
/** The same for a linked working tree. */
const NAMING_OF_TREE = ["config.worktree", "commondir", "gitdir"];

/**
 * Belong to other working trees and submodules. The main tree's own files cannot be mounted,
 * because git replaces them; they hold no more than branches, which a command can write too.
 */
const OF_OTHER_TREES = ["worktrees", "modules"];

/** The parts that are not writable, or need a mount point. */
interface Parts {
  /** Mount points, from the outside in. */
  pinned: string[];
  read_only: string[];
}

const NONE: Parts = { pinned: [], read_only: [] };

/**
 * Returns bwrap arguments for a git directory, or for the file that points to one.
 *
 * @param holds receives the placeholders to release when the command has ended
 * @param tree the linked working tree of the command; it can write nothing of the others
 */
export function gitParts(
  git: string,
  binder: Binder,
  holds: string[],
  tree?: string,
): Argument[] {
  const kind = binder.kind(git);
  if (kind !== "directory") return kind === undefined ? [] : binder.bind(git, "ro");
  const own = namingParts(git, binder, holds);
  if (own === undefined) return binder.bind(git, "ro");
  if (tree !== undefined) return partsFor(tree, own, { git, binder, holds });
  const below = (
    name: string,
    list: (all: string) => readonly string[],
    partsOf: (dir: string, binder: Binder, holds: string[]) => Parts | undefined,
  ) => own.there.has(name) ? partsBelow(git, name, { list, partsOf, binder, holds }) : NONE;
  const parts = [
    own,
    below("modules", modulesIn, namingParts),
    below("worktrees", directoriesIn, treeParts),
  ];
  const pinned = new Set(parts.flatMap((it) => it.pinned));
  return [
    ...binder.bind(git),
    ...[...pinned].sort((a, b) => a.length - b.length).flatMap((path) => binder.bind(path)),
    ...parts.flatMap((it) => it.read_only).flatMap((path) => binder.bind(path, "ro")),
  ];
}

/** Objects, branches and the tree's own part are writable. */
function partsFor(
  tree: string,
  common: Parts,
  { git, binder, holds }: { git: string; binder: Binder; holds: string[] },
): Argument[] {
  const own = binder.kind(tree) === "directory" ? treeParts(tree, binder, holds) : undefined;
  const others = partsIn(git, OF_OTHER_TREES, binder);
  if (own === undefined || others === undefined) return binder.bind(git, "ro");
  return [
    ...binder.bind(git),
    ...common.pinned.flatMap((path) => binder.bind(path)),
    ...[...common.read_only, ...others.read_only].flatMap((path) => binder.bind(path, "ro")),
    ...binder.bind(tree),
    ...own.read_only.flatMap((path) => binder.bind(path, "ro")),
  ];
}

/**
 * Undefined if one is a link or cannot be made, because a command could do both.
 *
 * @returns also the names in the directory, in lower case
 */
function namingParts(
  dir: string,
  binder: Binder,
  holds: string[],
): Parts & { there: ReadonlySet<string> } | undefined {
  for (const name of ["hooks", "info"]) {
    const path = join(dir, name);
    if (binder.kind(path) === "directory") continue;
    if (!exists(path)) makeDirectory(path);
    if (binder.kind(path) !== "directory") return undefined;
  }
  if (!hold(dir, "commondir", holds) || !hold(dir, "info/attributes", holds)) return undefined;
  if (hasTreeSettings(dir, binder) && !hold(dir, "config.worktree", holds)) return undefined;
  // Listing is faster than an `lstatSync` that fails.
  const there = namesIn(dir);
  if (there === undefined) return undefined;
  const naming = ["hooks", ...NAMING].filter((name) => name.includes("/") || there.has(name));
  const parts = partsIn(dir, naming, binder);
  return parts && { ...parts, there };
}

/** The same for a linked working tree, which has the settings of its repository. */
function treeParts(dir: string, binder: Binder, holds: string[]): Parts | undefined {
  const common = dirname(dirname(dir));
  if (!exists(join(dir, "commondir")) || !exists(join(dir, "gitdir"))) return undefined;
  if (hasTreeSettings(common, binder) && !hold(dir, "config.worktree", holds)) return undefined;
  return partsIn(dir, NAMING_OF_TREE, binder);
}

function partsIn(dir: string, names: readonly string[], binder: Binder): Parts | undefined {
  const read_only = names.map((name) => join(dir, name)).filter(exists);
  if (!read_only.every((path) => binder.kind(path) !== undefined)) return undefined;
  const pinned = read_only.map((path) => dirname(path)).filter((path) => path !== dir);
  return { pinned, read_only };
}

/** The parts of all git directories below `name`, or all of it read-only. */
function partsBelow(
  git: string,
  name: string,
  { list, partsOf, binder, holds }: {
    list(all: string): readonly string[];
    partsOf(dir: string, binder: Binder, holds: string[]): Parts | undefined;
    binder: Binder;
    holds: string[];
  },
): Parts {
  const all = join(git, name);
  if (binder.kind(all) === undefined) return { pinned: [], read_only: exists(all) ? [git] : [] };
  const dirs = list(all);
  const parts = dirs.length > PARTS_MAX
    ? [undefined]
    : dirs.map((dir) => partsOf(dir, binder, holds));
  if (parts.includes(undefined)) return { pinned: [], read_only: [all] };
  return {
    pinned: [
      all,
      ...dirs.flatMap((dir) => between(all, dir)),
      ...parts.flatMap((it) => it!.pinned),
    ],
    read_only: parts.flatMap((it) => it!.read_only),
  };
}

/** The directories from `above` down to `dir`. */
function between(above: string, dir: string): string[] {
  const found: string[] = [];
  for (let at = dir; at !== above; at = dirname(at)) found.push(at);
  return found.reverse();
}

/** Reports whether git reads settings from a working tree's own file. */
function hasTreeSettings(dir: string, binder: Binder): boolean {
  const text = binder.text(join(dir, "config"), CONFIG_MAX);
  return text === undefined || text.length === CONFIG_MAX || /worktreeconfig/i.test(text);
}

/** Returns the git directories of submodules. Their names may contain slashes. */
export function modulesIn(dir: string): string[] {
  const found: string[] = [];
  const waiting = [dir];
  for (let visits = 0; visits < VISITS_MAX && found.length <= PARTS_MAX; visits++) {
    const at = waiting.pop();
    if (at === undefined) return found;
    const is_module = at !== dir && exists(join(at, "HEAD"));
    if (is_module) found.push(at);
    waiting.push(...directoriesIn(is_module ? join(at, "modules") : at));
  }
  return found;
}

function directoriesIn(dir: string): string[] {
  try {
    return readDirIfAny(dir).flatMap(({ name, isDirectory }) => isDirectory ? join(dir, name) : []);
  } catch (error) {
    if (lacksForNow(error)) throw error;
    return [];
  }
}

/** The names in a directory, in lower case; undefined if it cannot be read. */
function namesIn(dir: string): Set<string> | undefined {
  try {
    // On a case-insensitive file system, a command may have written the other case.
    return new Set([...Deno.readDirSync(dir)].map(({ name }) => name.toLowerCase()));
  } catch (error) {
    if (lacksForNow(error)) throw error;
    return undefined;
  }
}

function makeDirectory(path: string): void {
  try {
    Deno.mkdirSync(path);
  } catch {
    // Then the whole git directory is read-only.
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
