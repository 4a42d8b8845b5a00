/** The changes in a worktree as one patch. */
import type * as z from "zod";
import { join } from "@std/path";
import { readUntrusted } from "../../jail/untrusted_files.ts";
import { headOf, openWorktree, tipOf, type WorktreeCall } from "./checkout.ts";
import { git, gitLine, type GitOptions } from "./git.ts";
import { withRepoLock } from "./repo_lock.ts";
import type { fileChangeSchema, worktreeDiffSchema } from "./schemas.ts";

export type FileChange = z.output<ReturnType<typeof fileChangeSchema>>;

export type WorktreeDiff = z.output<ReturnType<typeof worktreeDiffSchema>>;

const FILES_MAX = 1_000;
/** In bytes: about two million files. */
const INDEX_MAX = 256 * 1024 * 1024;
/** In bytes, without and with `full`. */
const PATCH_BYTES = 64 * 1024;
const FULL_PATCH_BYTES = 4 * 1024 * 1024;

/**
 * Compares a worktree, with uncommitted changes, with its merge base with the repository's
 * checkout.
 * @throws {SvcError} not_found when there is no such worktree
 */
export async function diffWorktree(
  options: WorktreeCall & { name: string; full?: boolean },
): Promise<WorktreeDiff> {
  const { signal, full = false } = options;
  const tree = await openWorktree(options);
  const { repo } = tree;
  return await withRepoLock(repo.root, signal, async () => {
    const commit = await tipOf(repo, tree.branch, signal);
    const head = await headOf(repo, signal);
    const base = await gitLine(repo, ["merge-base", head, commit], { signal, answers: [0, 1] });
    const base_commit = base || head;
    // A separate index includes new files and keeps the worktree's own unchanged.
    const index = join(tree.git_dir, `svc-diff-${crypto.randomUUID()}.index`);
    const at: GitOptions = { signal, at: tree, env: { GIT_INDEX_FILE: index } };
    try {
      await copyIndex(repo.root, join(tree.git_dir, "index"), index);
      await git(repo, ["add", "--all", "--", "."], at);
      const diff = (format: string[], max_bytes?: number) =>
        git(repo, ["diff", "--cached", ...PLAIN, ...format, base_commit], { ...at, max_bytes });
      const stat = parseNumstat((await diff(["--numstat", "-z"])).stdout);
      const patch = await diff(["--patch"], full ? FULL_PATCH_BYTES : PATCH_BYTES);
      return {
        base_commit,
        commit,
        files: stat.slice(0, FILES_MAX),
        files_changed: stat.length,
        added: sum(stat.map((file) => file.added)),
        deleted: sum(stat.map((file) => file.deleted)),
        patch: patch.stdout,
        truncated: patch.truncated || stat.length > FILES_MAX,
      };
    } finally {
      for (const path of [index, `${index}.lock`]) await Deno.remove(path).catch(() => {});
    }
  });
}

/**
 * Copies an index with its timestamp: git takes files that are older than the index for unchanged.
 */
async function copyIndex(root: string, from: string, to: string): Promise<void> {
  const index = readUntrusted(root, (files) => files.read(from, INDEX_MAX));
  if (index === undefined) return;
  const { mtime } = await Deno.lstat(from);
  // `createNew`: a command may have created a link there.
  await Deno.writeFile(to, index, { createNew: true });
  if (mtime !== null) await Deno.utime(to, mtime, mtime);
}

const PLAIN = [
  ...["--no-ext-diff", "--no-textconv", "--no-color", "--no-renames"],
  ...["--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"],
];

function parseNumstat(text: string): FileChange[] {
  return text.split("\0").filter((line) => line !== "").map((line) => {
    const [added, deleted, ...path] = line.split("\t");
    const counts = added === "-" ? {} : { added: Number(added), deleted: Number(deleted) };
    return { path: path.join("\t"), ...counts };
  });
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce((total: number, each = 0) => total + each, 0);
}
