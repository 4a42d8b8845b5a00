/** What of a working directory commands cannot write: what other programs run later. */
import { dirname, join } from "@std/path";
import { readDirIfAny } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { lockedIn } from "./later_locks.ts";
import { laterNamesAtHome, runsLater } from "./runs_later.ts";

/** Where the files are that a command must not write. */
interface Places {
  /** Real path of the home directory. */
  home: string;
  /** Directories with the person's programs. */
  programs: readonly string[];
  /** Paths that no tool sees. */
  hidden: readonly string[];
  binder: Binder;
  /** Whether `.git` is read-only as a whole. */
  git_read_only?: boolean;
}

/**
 * Returns arguments for bwrap that make the existing files that run later read-only in a workdir.
 */
export function readOnlyIn(
  workdir: string,
  { home, programs, hidden, binder, git_read_only = false }: Places,
): Argument[] {
  const later = lockedIn(workdir, { home, hidden: new Set(hidden) });
  const files = later.filter(({ kind }) => kind !== "repository").map(({ path }) => path);
  files.push(...laterNamesAtHome().map((name) => join(home, name)));
  if (isWithin(home, workdir)) files.push(...programs);
  const inside = files.filter((path) => isWithin(path, workdir));
  const repositories = later.filter(({ kind }) => kind === "repository");
  const parts = (repository: string) => {
    const git = join(repository, ".git");
    if (!git_read_only) return gitParts(repository, binder);
    return binder.kind(git) === undefined ? [] : binder.bind(git, "ro");
  };
  return [
    ...runsLater(workdir, home) === undefined ? [] : binder.bind(workdir, "ro"),
    ...[workdir, ...repositories.map(({ path }) => dirname(path))].flatMap(parts),
    ...[...new Set(inside)].filter((path) => binder.kind(path) !== undefined)
      .flatMap((path) => binder.bind(path, "ro")),
  ];
}

/**
 * Looks after a command.
 *
 * @returns a function that, after the command, returns notes for people and the model
 */
export function watchLater(workdir: string): () => string[] {
  return () => withoutCommonDir(workdir) ? [COMMON_DIR_NOTE] : [];
}

const COMMON_DIR_NOTE = "[.git/commondir was removed: it points git to another configuration]";

/** An ordinary checkout has no such file; one would replace its configuration by another. */
function withoutCommonDir(workdir: string): boolean {
  try {
    if (!Deno.lstatSync(join(workdir, ".git")).isDirectory) return false;
    Deno.removeSync(join(workdir, ".git", "commondir"));
    return true;
  } catch {
    return false;
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

/** With more submodules than this, all of them are read-only as a whole. */
const MODULES_MAX = 50;
/** The most directories searched for submodules; a hostile tree could be endless. */
const VISITS_MAX = 1_000;

/** The files in a git directory that can name programs for git to run. */
const NAMING = ["config", "config.worktree", "commondir", "info/attributes"];

/**
 * Git can do its own work: objects, refs, index and HEAD stay writable. Files that name programs
 * for git to run do not. `.git` itself is a mount point, so that it cannot be renamed and created
 * anew.
 */
export function gitParts(workdir: string, binder: Binder): Argument[] {
  const git = join(workdir, ".git");
  const kind = binder.kind(git);
  if (kind !== "directory") return kind === undefined ? [] : binder.bind(git, "ro");
  const read_only = namingParts(git, binder);
  const modules = join(git, "modules");
  const dirs = binder.kind(modules) === "directory" ? modulesIn(modules) : [];
  const parts = dirs.map((dir) => namingParts(dir, binder));
  if (read_only === undefined) return binder.bind(git, "ro");
  if (dirs.length > MODULES_MAX || parts.includes(undefined)) read_only.push(modules);
  else read_only.push(...parts.flatMap((paths) => paths!));
  return [...binder.bind(git), ...read_only.flatMap((path) => binder.bind(path, "ro"))];
}

/** Undefined when one of them is a link, which a command could replace. */
function namingParts(dir: string, binder: Binder): string[] | undefined {
  const hooks = join(dir, "hooks");
  if (!exists(hooks)) makeDirectory(hooks);
  const there = [hooks, ...NAMING.map((name) => join(dir, name))].filter(exists);
  return there.every((path) => binder.kind(path) !== undefined) ? there : undefined;
}

/** Returns the git directories of submodules, whose names may contain slashes. */
function modulesIn(dir: string): string[] {
  const found: string[] = [];
  const waiting = [dir];
  for (let visits = 0; visits < VISITS_MAX && found.length <= MODULES_MAX; visits++) {
    const at = waiting.pop();
    if (at === undefined) return found;
    const is_module = at !== dir && exists(join(at, "HEAD"));
    if (is_module) found.push(at);
    const below = is_module ? join(at, "modules") : at;
    for (const { name, isDirectory } of readDirIfAny(below)) {
      if (isDirectory) waiting.push(join(below, name));
    }
  }
  return found;
}

function makeDirectory(path: string): void {
  try {
    Deno.mkdirSync(path);
  } catch {
    // If svc cannot write a directory, commands cannot either.
  }
}
