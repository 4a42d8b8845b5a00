/**
 * The repository around a session's directory, as far as it is seen without git: nothing is run, and
 * only names and a short file are looked at.
 */
import { dirname, join } from "@std/path";
import { worktreeAt } from "../../base/worktree_path.ts";
import { RootedError } from "../../jail/rooted.ts";
import type { UntrustedReader } from "../../jail/untrusted_files.ts";
import { branchOf } from "../worktree/names.ts";

/** Where a session's directory belongs to. */
export interface Repository {
  /** Absolute path of the top directory of its checkout. */
  root: string;
  /** Whose git directory svc knows: the main checkout's, or that of one of svc's own worktrees. */
  kind: "main" | "worktree" | "other";
}

/** More than a `HEAD` has, in bytes. */
const HEAD_MAX = 1024;

/**
 * Finds the repository that a directory lies in. One whose top is above the directory counts only if
 * it belongs to the user of this process or to root: anyone can make a repository of /tmp.
 *
 * @param workdir absolute real path.
 * @param uid user of this process; undefined where files have no owner.
 */
export function findRepository(workdir: string, uid: number | undefined): Repository | undefined {
  for (let root = workdir;; root = dirname(root)) {
    const git = lstatIfAny(join(root, ".git"));
    if (git !== undefined) {
      if (root !== workdir && !isOurs(git, uid)) return undefined;
      if (git.isDirectory) return { root, kind: "main" };
      return { root, kind: worktreeAt(root) === undefined ? "other" : "worktree" };
    }
    if (dirname(root) === root) return undefined;
  }
}

function isOurs(info: Deno.FileInfo, uid: number | undefined): boolean {
  return uid === undefined || info.uid === uid || info.uid === 0;
}

function lstatIfAny(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}

/** The branch that is checked out, in words; `unknown` where svc does not read it. */
export function branchIn({ root, kind }: Repository, untrusted: UntrustedReader): string {
  const worktree = kind === "worktree" ? worktreeAt(root) : undefined;
  if (worktree !== undefined) return branchOf(worktree.name);
  if (kind === "other") return "unknown";
  let head: string | undefined;
  try {
    head = untrusted.files(root).text(join(root, ".git", "HEAD"), HEAD_MAX);
  } catch (error) {
    if (!(error instanceof RootedError)) throw error;
  }
  const [, branch] = head?.match(/^ref: refs\/heads\/([^\s\p{C}]+)\s*$/u) ?? [];
  // A repository with another store of references says `.invalid` here.
  if (branch !== undefined && branch !== ".invalid") return branch;
  const [commit] = head?.match(/^[0-9a-f]{40,64}(?=\s*$)/) ?? [];
  return commit === undefined ? "unknown" : `none, detached at ${commit.slice(0, 12)}`;
}
