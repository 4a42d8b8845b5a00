/**
 * Files of a project that other programs run later with all of the person's rights, so writing one
 * has effects outside of every sandbox. Commands cannot write existing ones, and file tools ask
 * before each write.
 */
import { join } from "@std/path";
import { changedAt, readDirIfAny } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { TOOLCHAINS } from "./toolchains.ts";

/** Which program runs a project's file, by the path of the file or of a directory above it. */
const IN_PROJECTS: Readonly<Record<string, string>> = {
  ".vscode": "the editor runs its tasks and settings",
  ".idea": "the editor runs its configurations",
  ".devcontainer": "the editor builds and runs it",
  ".envrc": "direnv runs it in your shell",
  ".husky": "git runs it at each commit",
  "svc.policy.yaml": "svc starts the tool servers in it",
  "svc.permissions.toml": "its rules decide what you are asked",
};

/** Which program runs a file in a home directory. */
const IN_HOMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...[".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"],
      ...[".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"],
      ...[".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment"],
      ...[".config/fish", ".config/environment.d"],
    ].map((path) => [path, "your shell runs it"]),
  ),
  ".config/autostart": "the desktop runs it at login",
  ".config/systemd": "the service manager runs it",
  ".local/share/systemd": "the service manager runs it",
  ".ssh": "ssh reads it",
  ".gitconfig": "git runs the commands in it",
  ".config/git": "git runs the commands in it",
  ".vimrc": "the editor runs it",
  ".config/nvim": "the editor runs it",
  ".emacs": "the editor runs it",
  ".emacs.d": "the editor runs it",
  ".npmrc": "npm reads it",
  ...Object.fromEntries(
    ["bin", ".local/bin", ...TOOLCHAINS].map((path) => [path, "you run the programs in it"]),
  ),
};

/** Files with commands that people may have allowed by a name that stays the same. */
const ASKED_ONLY: Readonly<Record<string, string>> = {
  "package.json": "npm runs its scripts, including those that you always allow",
};

/**
 * Returns which program runs a file later.
 *
 * @param path relative to the workdir, normalized, with `/` between its parts
 * @param home the home directory as such a path; undefined when it is not in the workdir
 * @returns a clause for people; undefined for a file that nothing runs by itself
 */
export function runsLater(path: string, home: string | undefined): string | undefined {
  const folded = fold(path);
  // Each part of a project may have its own files for editors and packages.
  const part = folded.split("/").find((name) => name in IN_PROJECTS || name in ASKED_ONLY);
  if (part !== undefined) return IN_PROJECTS[part] ?? ASKED_ONLY[part];
  return runsAtHome(folded, home);
}

/** For systems with case-insensitive file names. */
function fold(path: string): string {
  return Deno.build.os === "linux" ? path : path.toLowerCase();
}

/**
 * Like {@linkcode runsLater}, only for files in the home directory that run regardless of the
 * project.
 */
export function runsAtHome(path: string, home: string | undefined): string | undefined {
  const folded = fold(path);
  if (home === undefined || (home !== "" && !isWithin(folded, fold(home)))) return undefined;
  const at_home = home === "" ? folded : folded.slice(home.length + 1);
  return Object.entries(IN_HOMES).find(([name]) => isWithin(at_home, name))?.[1];
}

/** Where the files are that a command must not write. */
interface Places {
  /** Real path of the home directory. */
  home: string;
  /** Directories with the person's programs. */
  programs: readonly string[];
  binder: Binder;
  /** Whether `.git` is read-only as a whole. */
  git_read_only?: boolean;
}

/**
 * Returns arguments for bwrap that make the existing files that run later read-only in a workdir.
 */
export function readOnlyIn(
  workdir: string,
  { home, programs, binder, git_read_only = false }: Places,
): Argument[] {
  const files = Object.keys(IN_PROJECTS).map((name) => join(workdir, name));
  if (isWithin(home, workdir)) {
    files.push(...Object.keys(IN_HOMES).map((name) => join(home, name)));
    files.push(...programs.filter((path) => isWithin(path, workdir)));
  }
  const git = join(workdir, ".git");
  return [
    ...git_read_only
      ? binder.kind(git) === undefined ? [] : binder.bind(git, "ro")
      : gitParts(workdir, binder),
    ...[...new Set(files)].filter((path) => binder.kind(path) !== undefined)
      .flatMap((path) => binder.bind(path, "ro")),
  ];
}

/**
 * Records the state of a directory before a command.
 *
 * @returns a function that, after the command, lists the new files that run later, for people and
 * the model
 */
export function watchLater(workdir: string): () => string[] {
  const started = Date.now();
  const before = changedAt(workdir);
  return () => {
    const made = before === changedAt(workdir) ? [] : Object.entries(IN_PROJECTS)
      .filter(([name]) => madeAt(join(workdir, name)) >= started)
      .map(([name, runner]) => `[${name} is new: ${runner}]`);
    return withoutCommonDir(workdir) ? [...made, COMMON_DIR_NOTE] : made;
  };
}

/** When a file was created; 0 when it does not exist. */
function madeAt(path: string): number {
  try {
    const { birthtime, ctime } = Deno.lstatSync(path);
    return (birthtime ?? ctime)?.getTime() ?? 0;
  } catch {
    return 0;
  }
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
