/** What of a working directory commands cannot write: what other programs run later. */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { gitParts } from "./git_parts.ts";
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
  /** Takes up the placeholders of git directories; see {@linkcode gitParts}. */
  holds: string[];
}

/**
 * Returns arguments for bwrap that make the existing files that run later read-only in a workdir.
 */
export function readOnlyIn(
  workdir: string,
  { home, programs, hidden, binder, git_read_only = false, holds }: Places,
): Argument[] {
  const later = lockedIn(workdir, { home, hidden: new Set(hidden) });
  const files = later.filter(({ kind }) => kind === "file" || kind === "directory")
    .map(({ path }) => path);
  files.push(...laterNamesAtHome().map((name) => join(home, name)));
  if (isWithin(home, workdir)) files.push(...programs);
  const inside = files.filter((path) => isWithin(path, workdir));
  // The git directories of submodules are parts of the one that they are in.
  const repositories = later.filter(({ kind }) => kind === "repository").map(({ path }) => path);
  const own = join(workdir, ".git");
  const parts = (git: string) => {
    // Without a HEAD it is no repository, and stays none.
    if (!git_read_only && (git === own || binder.kind(join(git, "HEAD")) !== undefined)) {
      return gitParts(git, binder, holds);
    }
    return binder.kind(git) === undefined ? [] : binder.bind(git, "ro");
  };
  return [
    ...runsLater(workdir, home) === undefined ? [] : binder.bind(workdir, "ro"),
    ...[...new Set([own, ...repositories])].flatMap(parts),
    ...[...new Set(inside)].filter((path) => binder.kind(path) !== undefined)
      .flatMap((path) => binder.bind(path, "ro")),
  ];
}
