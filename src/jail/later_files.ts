/**
 * The files in a working directory that commands cannot write, because other programs run them
 * later.
 */
import { join } from "@std/path";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { gitParts } from "./git_parts.ts";
import { lockedIn } from "./later_locks.ts";
import { laterNamesAtHome, runsLater } from "./runs_later.ts";

interface Places {
  home: string;
  programs: readonly string[];
  hidden: readonly string[];
  binder: Binder;
  /** Whether all of `.git` is read-only. */
  git_read_only?: boolean;
  /** Receives the placeholders; see {@linkcode gitParts}. */
  holds: string[];
}

/** Returns bwrap arguments that make the existing files that run later read-only. */
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
  // Submodules are parts of the repository around them.
  const repositories = later.filter(({ kind }) => kind === "repository").map(({ path }) => path);
  const own = join(workdir, ".git");
  const parts = (git: string) => {
    // Without a HEAD it is not a repository and cannot become one.
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
