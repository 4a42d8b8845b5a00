/** Determines what a task changed in a repository, committed or not. */
import { join } from "@std/path";
import type { Sandbox } from "../../../../jail/sandbox.ts";
import { SvcError } from "../../../../protocol/errors.ts";
import { git, gitLine, openRepo, type Repo } from "../../../worktree/git.ts";

export interface Changes {
  /** All changes as one patch. */
  patch: string;
  files: number;
}

const PATCH_MIB = 8;

/** The state of a working tree, for comparison with a later one. */
export class Snapshot {
  readonly #repo: Repo;
  /** The name of its tree. */
  readonly tree: string;

  private constructor(repo: Repo, tree: string) {
    this.#repo = repo;
    this.tree = tree;
  }

  /** Takes a snapshot; undefined for a directory that is not a repository. */
  static async take(
    workdir: string,
    sandbox: Sandbox,
    signal: AbortSignal,
  ): Promise<Snapshot | undefined> {
    let repo: Repo;
    try {
      repo = await openRepo(workdir, sandbox, signal);
    } catch (error) {
      if (error instanceof SvcError && error.code === "validation") return undefined;
      throw error;
    }
    return new Snapshot(repo, await writeTree(repo, signal));
  }

  /**
   * Opens an earlier snapshot; undefined if the repository no longer has it.
   * @throws the signal's reason when it fires
   */
  static async open(
    tree: string,
    workdir: string,
    sandbox: Sandbox,
    signal: AbortSignal,
  ): Promise<Snapshot | undefined> {
    const repo = await openRepo(workdir, sandbox, signal);
    const kind = await gitLine(repo, ["cat-file", "-t", tree], { signal }).catch(() => {
      signal.throwIfAborted();
      return undefined;
    });
    return kind === "tree" ? new Snapshot(repo, tree) : undefined;
  }

  /** Returns the changes since then. @throws {SvcError} payload_too_large for more than 8 MiB. */
  async changes(signal: AbortSignal): Promise<Changes> {
    const tree = await writeTree(this.#repo, signal);
    const diff = (format: string[], max_bytes?: number) =>
      git(
        this.#repo,
        ["diff", "--no-color", "--no-ext-diff", "--no-textconv", ...format, this.tree, tree],
        { signal, max_bytes },
      );
    const { stdout: names } = await diff(["--name-only", "-z"]);
    const { stdout: patch, truncated } = await diff(
      ["--patch", "--binary"],
      PATCH_MIB * 1024 * 1024,
    );
    // The first part alone would not apply, and a task's record has no field for a hint.
    if (truncated) {
      throw new SvcError(
        "payload_too_large",
        `the patch of the changes is larger than ${PATCH_MIB} MiB: add generated files to .gitignore`,
      );
    }
    return { patch, files: names.split("\0").length - 1 };
  }
}

/** Writes the working tree as a tree object, without touching the repository's index. */
async function writeTree(repo: Repo, signal: AbortSignal): Promise<string> {
  const index = join(repo.git_dir, `svc-task-${crypto.randomUUID()}.index`);
  const env = { GIT_INDEX_FILE: index };
  try {
    await git(repo, ["add", "--all", "--", "."], { signal, env });
    return await gitLine(repo, ["write-tree"], { signal, env });
  } finally {
    await Deno.remove(index).catch(() => {});
  }
}
