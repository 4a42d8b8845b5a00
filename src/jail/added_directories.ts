/** The directories besides the workdir that a session's calls may use, and paths of one command. */
import type { AddedDirectory } from "../protocol/added_directory.ts";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { type Cover, directoriesAbove } from "./covers.ts";
import { readOnlyIn } from "./later_files.ts";

/** A place that a call may use, with what it must not see there. A file only for a command. */
export interface AddedRoot extends AddedDirectory {
  /** Absolute real paths; never the directory itself. */
  hidden: readonly string[];
}

/** Returns the added directory that a normalized absolute path is in. */
export function addedAt(
  path: string,
  added: readonly AddedRoot[] | undefined,
): AddedRoot | undefined {
  return added?.find((root) => isWithin(path, root.path));
}

interface AddedMounts {
  home: string;
  programs: readonly string[];
  binder: Binder;
  /** Receives the placeholders; see {@linkcode gitParts}. */
  holds: string[];
  /** Whether the command may write nowhere. */
  read_only: boolean;
  /** Whether `.git` is read-only. */
  git_read_only?: boolean;
  sockets: readonly string[];
  covers(hidden: readonly string[], root: string): Cover[];
  cover(cover: Cover): Argument[];
  cutOff(socket: string): Argument[];
}

/**
 * Returns bwrap arguments that show added directories under the rules of the workdir, and files. One
 * in another has its own access.
 */
export function addedMounts(
  added: readonly AddedRoot[],
  { home, programs, binder, holds, read_only, git_read_only, ...parts }: AddedMounts,
): Argument[] {
  const outer_first = [...added].sort((a, b) => a.path.length - b.path.length);
  return outer_first.flatMap(({ path: root, access, hidden }) => {
    const kind = binder.kind(root);
    // Without it, the command just does not see the directory.
    if (kind === undefined) return [];
    const mode = access === "read" || read_only ? "ro" : undefined;
    if (kind === "file") return binder.bind(root, mode);
    const covers = parts.covers(hidden.filter((path) => path !== root), root);
    return [
      ...binder.bind(root, mode),
      ...directoriesAbove(covers, root).flatMap((path) => binder.bind(path, mode)),
      ...(mode === "ro"
        ? []
        : readOnlyIn(root, { home, programs, hidden, binder, git_read_only, holds })),
      // A program's socket can be written whatever the mount's mode.
      ...parts.sockets.filter((path) => isWithin(path, root)).flatMap(parts.cutOff),
      ...covers.flatMap(parts.cover),
    ];
  });
}
