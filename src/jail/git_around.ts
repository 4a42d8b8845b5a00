/**
 * What commands see of the repository that their working directory belongs to, where that lies
 * outside of the directory.
 *
 * A command of the person's own session does git's work there, under the rules of `git_parts.ts`. In
 * a directory below the top of a checkout it sees the rest of the checkout too, read-only: git would
 * take it for deleted, and commit that. So it is all or nothing: if a part has to stay hidden,
 * because another session works there, commands only read the history.
 */
import { join } from "@std/path";
import { worktreeAt } from "../base/worktree_path.ts";
import { isWithin } from "../os/paths.ts";
import type { Argument } from "../os/passing.ts";
import type { Binder } from "./binder.ts";
import { gitParts } from "./git_parts.ts";
import { type GitOutside, gitOutside } from "./git_places.ts";
import type { SandboxScope } from "./sandbox.ts";

/** What commands of the person's own sessions may know of the checkout around their directory. */
export interface Checkout {
  /** Its top, if the directory lies below it. */
  top: string | undefined;
  /** Real paths in it, outside of the directory, that no tool may see. */
  hidden: readonly string[];
  /** The directory of another session in it. */
  other?: string;
}

/** What a command sees of a repository. */
export interface GitAround extends GitOutside {
  /** The top of the checkout, if the command sees all of it. */
  shown?: string;
  /** Why git can only read, as a clause; undefined where it can write. */
  only_reads?: string;
}

/** What the person's files tell of where a repository may be. */
interface Surroundings {
  /** The home directory. */
  home: string;
  /** Directories of people's own files. */
  personal: readonly string[];
}

/**
 * Finds the repository around or beside a working directory; undefined where it has none, or one of
 * its own.
 */
export function gitAround(
  scope: SandboxScope,
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
  // A command that runs could have made another repository meanwhile.
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

/** Returns arguments for bwrap for what of a repository lies outside of the working directory. */
export function gitMounts(
  { directory, tree, pointer, only_reads }: GitAround,
  scope: SandboxScope,
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
