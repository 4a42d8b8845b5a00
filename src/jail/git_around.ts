/**
 * What commands see of a repository outside of their working directory.
 *
 * A command of the person's own session can use git there, under the rules of `git_parts.ts`. Below
 * the top of a checkout it also sees the rest, read-only: otherwise git would commit it as deleted.
 * So if any part must stay hidden for another session, commands can only read the history.
 */
import { join } from "@std/path";
import { worktreeAt } from "../base/worktree_path.ts";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { gitParts } from "./git_parts.ts";
import { type GitOutside, gitOutside } from "./git_places.ts";

/** The checkout around a working directory, for commands of the person's own sessions. */
export interface Checkout {
  top: string | undefined;
  /** Real paths in it, outside of the directory, that no tool may see. */
  hidden: readonly string[];
  other?: string;
}

/** The part of a command's scope that decides what git can do. */
export interface GitScope {
  /** Absolute real path of the only writable directory. */
  workdir: string;
  /**
   * For the person's own sessions: git may work in the repository around the workdir, and commands
   * may see the rest of the checkout.
   */
  checkout?: Checkout;
  read_only?: boolean;
  /** Makes `.git` read-only, because others would see changes while it runs. */
  background?: boolean;
  /** For svc's own git that runs nothing from the repository: it may change its configuration. */
  git?: boolean;
  /**
   * For svc's own git in a working tree below the workdir. It may start another git for a nested
   * repository, with that repository's programs. So only this tree and git's own files are
   * writable, except files that name programs.
   */
  git_tree?: string;
}

export interface GitAround extends GitOutside {
  /** Set if the command sees all of the checkout. */
  shown?: string;
  /** Why git can only read, as a clause; undefined if it can write. */
  only_reads?: string;
}

interface Surroundings {
  home: string;
  personal: readonly string[];
}

/**
 * Finds the repository around or beside a working directory; undefined if there is none, or it is
 * in the directory itself.
 */
export function gitAround(
  scope: GitScope,
  { home, personal }: Surroundings,
  binder: Binder,
): GitAround | undefined {
  const { workdir, checkout } = scope;
  const own = worktreeAt(workdir);
  if (own !== undefined) {
    const directory = join(own.repo, ".git");
    if (binder.kind(directory) !== "directory") return undefined;
    return { directory, only_reads: "svc itself takes over what changes in its own worktrees" };
  }
  const found = gitOutside(workdir, { binder, home, uid: Deno.uid() });
  // A running command could have made another repository since.
  if (found === undefined || checkout === undefined || checkout.top !== found.top) {
    return found && { ...found, only_reads: "it lies outside of the working directory" };
  }
  const { top } = found;
  if (top !== undefined && personal.some((path) => isWithin(path, top))) {
    return { ...found, only_reads: `${top} holds more than a project` };
  }
  if (top !== undefined && checkout.other !== undefined) {
    return {
      ...found,
      only_reads: `another session works in ${checkout.other}, whose files git would take for ` +
        "deleted",
    };
  }
  return {
    ...found,
    shown: top,
    only_reads: scope.background ? "it runs in the background" : undefined,
  };
}

/** Returns the paths outside of the working directory that a command sees. */
export function seenAround(git: GitAround | undefined): string[] {
  if (git === undefined) return [];
  return [git.directory, git.pointer, git.shown].filter((path) => path !== undefined);
}

/** Returns bwrap arguments for the parts of a repository outside of the working directory. */
export function gitMounts(
  { directory, tree, pointer, only_reads }: GitAround,
  scope: GitScope,
  binder: Binder,
  holds: string[],
): Argument[] {
  const writes = only_reads === undefined && !scope.read_only && !scope.git &&
    scope.git_tree === undefined;
  return [
    ...(writes ? gitParts(directory, binder, holds, tree) : binder.bind(directory, "ro")),
    ...(pointer === undefined ? [] : binder.bind(pointer, "ro")),
  ];
}
