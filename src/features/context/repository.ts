/**
 * Finds the repository of a session's directory without running git; reads only names and a short
 * file.
 */
import { dirname, join } from "@std/path";
import { worktreeAt } from "../../base/worktree_path.ts";
import { RootedError } from "../../jail/rooted.ts";
import type { UntrustedReader } from "../../jail/untrusted_files.ts";
import { branchOf } from "../worktree/names.ts";

export interface Repository {
  /** The absolute path of the checkout's top. */
  root: string;
  /** `other` is a worktree that svc did not create, or a submodule. */
  kind: "main" | "worktree" | "other";
}

/** More than any `HEAD`, in bytes. */
const HEAD_MAX = 1024;

/**
 * Finds the repository of a directory. A top above the directory must belong to this user or to
 * root: anyone can create a repository in /tmp.
 * @param workdir absolute real path
 * @param uid of this process; undefined on systems without file owners
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

/** Describes the current branch; `unknown` if svc does not read it. */
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
  // With another store of references, HEAD contains `.invalid`.
  if (branch !== undefined && branch !== ".invalid") return branch;
  const [commit] = head?.match(/^[0-9a-f]{40,64}(?=\s*$)/) ?? [];
  return commit === undefined ? "unknown" : `none, detached at ${commit.slice(0, 12)}`;
}
