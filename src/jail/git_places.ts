/**
 * Finds the git directory of a checkout outside of the working directory: for a linked worktree, a
 * submodule, a git directory elsewhere, or a directory below the top of its repository.
 *
 * A command or the checkout's author may have written the pointer file. So it counts only if the
 * git directory names this checkout too; only someone who can read it could write that.
 */
import { basename, dirname, isAbsolute, join, normalize } from "@std/path";
import { exists } from "../os/files.ts";
import { isWithin } from "../os/paths.ts";
import type { Binder } from "./binder.ts";
import { pointedTo } from "./git_settings.ts";

/** Bytes; longer than any real pointer. */
const POINTER_MAX = 8 * 1024;
const CONFIG_MAX = 256 * 1024;

export interface GitSearch {
  binder: Pick<Binder, "kind" | "text" | "owner">;
  /** A repository here or above does not belong to a project. */
  home: string;
  /** User of this process; undefined where files have no owner. */
  uid: number | null | undefined;
}

/** What of a repository lies outside of the working directory. */
export interface GitOutside {
  /** With objects and branches. */
  directory: string;
  /** For a linked worktree: its own part, `<directory>/worktrees/<name>`. */
  tree?: string;
  /** The top of the checkout, if the working directory is below it. */
  top?: string;
  /** The `.git` file at the top, if it is a pointer. */
  pointer?: string;
}

/** Finds the git directory of a checkout that lies outside of the working directory. */
export function gitOutside(workdir: string, search: GitSearch): GitOutside | undefined {
  const found = gitDirectoryOf(workdir, search);
  if (found === undefined) return undefined;
  const { directory } = found;
  if (isWithin(directory, workdir) || isWithin(workdir, directory)) return undefined;
  // Commands must not see svc's own files.
  return directory.split("/").includes(".svc") ? undefined : found;
}

function gitDirectoryOf(
  workdir: string,
  { binder, home, uid }: GitSearch,
): GitOutside | undefined {
  for (let root = workdir; root !== "/"; root = dirname(root)) {
    const top = root === workdir ? {} : { top: root };
    const git = join(root, ".git");
    if (!exists(git)) continue;
    const kind = binder.kind(git);
    if (kind === undefined) return undefined;
    const owner = binder.owner(git);
    // Anyone can make a repository of /tmp.
    if (root !== workdir && typeof uid === "number" && owner !== uid && owner !== 0) {
      return undefined;
    }
    if (root !== workdir && isWithin(home, root)) return undefined;
    if (kind === "directory") return { directory: git, ...top };
    const found = linkedFrom(root, git, binder);
    if (found === undefined) return undefined;
    return root === workdir ? found : { ...found, ...top, pointer: git };
  }
}

function linkedFrom(
  root: string,
  git: string,
  binder: GitSearch["binder"],
): GitOutside | undefined {
  const target = pointedTo(binder.text(git, POINTER_MAX) ?? "", root);
  if (target === undefined || binder.kind(target) !== "directory") return undefined;
  return worktreeOf(target, git, binder) ?? separateOf(target, root, binder);
}

/** `<common>/worktrees/<name>` whose `gitdir` names the `.git` file. */
function worktreeOf(
  target: string,
  git: string,
  binder: GitSearch["binder"],
): GitOutside | undefined {
  const common = dirname(dirname(target));
  if (basename(dirname(target)) !== "worktrees") return undefined;
  const names = (file: string) => {
    const text = binder.text(join(target, file), POINTER_MAX)?.trim();
    return text === undefined || text === "" ? undefined : resolved(target, text);
  };
  if (names("gitdir") !== git || names("commondir") !== common) return undefined;
  if (binder.kind(join(common, "objects")) !== "directory") return undefined;
  return { directory: common, tree: target };
}

/** A git directory whose `core.worktree` names the checkout, as git sets it for a submodule. */
function separateOf(
  target: string,
  root: string,
  binder: GitSearch["binder"],
): GitOutside | undefined {
  const config = binder.text(join(target, "config"), CONFIG_MAX);
  const [, worktree] = config?.match(/^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$/m) ?? [];
  if (worktree === undefined || resolved(target, worktree) !== root) return undefined;
  if (binder.kind(join(target, "objects")) !== "directory") return undefined;
  // Objects and branches are elsewhere.
  if (binder.kind(join(target, "commondir")) !== undefined) return undefined;
  return { directory: target };
}

function resolved(directory: string, path: string): string {
  const whole = normalize(isAbsolute(path) ? path : join(directory, path));
  return whole.length > 1 ? whole.replace(/\/+$/, "") : whole;
}
