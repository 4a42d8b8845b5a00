/** What a checkout has that its last commit does not. Nothing is written to the repository. */
import { isAbsolute, join, normalize, relative } from "@std/path";
import type * as z from "zod";
import { changedText, TEXT_BYTES } from "../../base/edits/changed_text.ts";
import { isBinaryPatch, parseHunks } from "../../base/edits/hunks.ts";
import { parseRenames, type Renamed } from "../../base/edits/renames.ts";
import { worktreeAt } from "../../base/worktree_path.ts";
import { exactFiles } from "../../jail/rooted_exact.ts";
import { RootedError } from "../../jail/rooted.ts";
import { readUntrusted } from "../../jail/untrusted_files.ts";
import { exists } from "../../os/files.ts";
import { SvcError } from "../../protocol/errors.ts";
import type { changedTextSchema } from "../../protocol/schemas/changes.ts";
import { openWorktree, type WorktreeCall } from "./checkout.ts";
import { type Checkout, git, gitLine, type GitOptions, type Repo } from "./git.ts";
import { openMoved } from "./moved.ts";
import type { uncommittedSchema } from "./schemas.ts";

type Uncommitted = z.output<ReturnType<typeof uncommittedSchema>>;
type ChangedFile = Uncommitted["files"][number];
type ChangedText = z.output<ReturnType<typeof changedTextSchema>>;

const FILES_MAX = 1_000;
/** What a checkout without a commit is compared with. */
const EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/** `diff` reads the files of the checkout, and runs nothing of the repository. */
const PLAIN = [
  ...["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"],
  ...["--src-prefix=a/", "--dst-prefix=b/"],
  // As the repository may be configured, git would run another one in a submodule, with the
  // programs that are configured there, or show lines between hunks.
  ...["--submodule=short", "--inter-hunk-context=0"],
];
/** Nothing of svc's is committed. */
export const OWN = /^\.svc(\/|$)/i;

/** A checkout of a repository: its own one, or a worktree of svc's. */
export interface OpenCheckout {
  repo: Repo;
  at: Checkout;
  worktree?: string;
}

/** Opens the repository that a directory is the top of. @returns undefined if it is none */
export async function openCheckout(
  { workdir, sandbox, signal }: Omit<WorktreeCall, "repo"> & { workdir: string },
): Promise<OpenCheckout | undefined> {
  const place = worktreeAt(workdir);
  if (place !== undefined && exists(join(place.repo, ".git"))) {
    const tree = await openWorktree({ ...place, sandbox, signal });
    return { repo: tree.repo, at: tree, worktree: tree.name };
  }
  if (!isDirectory(join(workdir, ".git"))) return undefined;
  const repo = await openMoved(workdir, sandbox, signal);
  return { repo, at: { path: repo.root, git_dir: repo.git_dir } };
}

function isDirectory(path: string): boolean {
  try {
    return Deno.lstatSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** Lists the files that differ from the last commit, new ones too. */
export async function uncommittedIn(
  call: Omit<WorktreeCall, "repo"> & { workdir: string },
): Promise<Uncommitted> {
  const checkout = await openCheckout(call);
  if (checkout === undefined) {
    return { kind: "none", files: [], files_changed: 0, added: 0, deleted: 0, truncated: false };
  }
  const { repo, at, worktree } = checkout;
  const options = { at, signal: call.signal };
  const base = await baseOf(checkout, call.signal);
  const diff = async (...format: string[]) =>
    (await git(repo, ["diff", ...PLAIN, "-z", ...format, base, "--"], options)).stdout;
  const status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
  const { stdout } = await git(repo, [...status, "--ignore-submodules=dirty"], options);
  const made = stdout.split("\0").filter((it) => it.startsWith("?? ")).map((it) => it.slice(3));
  const files = [
    ...filesOf(
      await diff("--name-status", "--no-renames"),
      await diff("--numstat", "--no-renames"),
      parseRenames(await diff("--numstat", "--find-renames", "--diff-filter=R")),
    ),
    ...made.map((path): ChangedFile => ({ path, change: "added" })),
  ].filter(({ path }) => !OWN.test(path)).sort((one, other) => one.path < other.path ? -1 : 1);
  const branch = await branchOf(checkout, call.signal);
  const shown = files.slice(0, FILES_MAX);
  const looked = exactFiles(at.path, []).look(shown.map(({ path }) => path));
  const sum = (name: "added" | "deleted") =>
    files.reduce((total, { [name]: lines = 0 }) => total + lines, 0);
  return {
    kind: worktree === undefined ? "checkout" : "worktree",
    repo: repo.root,
    worktree,
    branch,
    files: shown.map((it, n) => ({ ...it, version: looked[n]?.version })),
    files_changed: files.length,
    added: sum("added"),
    deleted: sum("deleted"),
    truncated: files.length > FILES_MAX,
  };
}

/** Returns the branch of a checkout; undefined if it is on none. */
export async function branchOf(
  { repo, at }: OpenCheckout,
  signal: AbortSignal,
): Promise<string | undefined> {
  const args = ["symbolic-ref", "--quiet", "--short", "HEAD"];
  return await gitLine(repo, args, { at, signal, answers: [0, 1] }) || undefined;
}

/** Returns what a checkout is compared with. */
async function baseOf({ repo, at }: OpenCheckout, signal: AbortSignal): Promise<string> {
  const args = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"];
  const head = await git(repo, args, { at, signal, answers: [0, 1, 128] });
  return head.code === 0 ? head.stdout.trim() : EMPTY_TREE;
}

const CHANGES: Record<string, ChangedFile["change"]> = { A: "added", D: "deleted" };

function filesOf(names: string, counts: string, renames: Map<string, Renamed>): ChangedFile[] {
  const lines = new Map(
    counts.split("\0").filter((it) => it !== "").map((it) => {
      const [added, deleted, ...path] = it.split("\t");
      return [
        path.join("\t"),
        added === "-" ? {} : { added: Number(added), deleted: Number(deleted) },
      ];
    }),
  );
  const parts = names.split("\0");
  const files: ChangedFile[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const path = parts[at + 1];
    const { from: renamed_from, ...differ } = renames.get(path) ?? {};
    const change = CHANGES[parts[at]] ?? "changed";
    const lines_of = renamed_from === undefined ? lines.get(path) : differ;
    files.push({ path, change, renamed_from, ...lines_of });
  }
  return files;
}

/**
 * Returns how one file differs from the last commit.
 * @param options.renamed_from its path there, if it was renamed
 * @throws {SvcError} validation outside of a repository
 */
export async function uncommittedText(
  options: Omit<WorktreeCall, "repo"> & {
    workdir: string;
    path: string;
    renamed_from?: string;
    /** Absolute real paths that are not read. */
    hidden: readonly string[];
  },
): Promise<ChangedText> {
  const { path, renamed_from, signal, hidden } = options;
  const checkout = await openCheckout(options);
  if (checkout === undefined) throw noCheckout(options.workdir);
  const { repo, at } = checkout;
  const paths = renamed_from === undefined ? [path] : [path, renamed_from];
  for (const it of paths) requireWithin(it);
  const max_bytes = 2 * TEXT_BYTES;
  const call: GitOptions = { at, signal, max_bytes, env: { GIT_LITERAL_PATHSPECS: "1" } };
  const base = await baseOf(checkout, signal);
  const args = ["diff", ...PLAIN, "--unified=0", "--find-renames=1%", base, "--", ...paths];
  const { stdout: patch, truncated: cut } = await git(repo, args, call);
  const hunks = cut ? [] : parseHunks(patch);
  const target = linkIn(patch);
  if (target !== undefined) return { kind: "link", text: target, hunks };
  const now = readIn(at.path, path, hidden);
  if (now === undefined) {
    if (patch === "") return { kind: "gone", text: "", hunks };
    const is_binary = hunks.length === 0 && isBinaryPatch(patch);
    return { kind: cut ? "too_large" : is_binary ? "binary" : "text", text: "", hunks };
  }
  if (now === "too_large") return { kind: "too_large", text: "", hunks: [] };
  return changedText(now, hunks, { cut });
}

/** @throws {SvcError} validation, in place of what git would say about the path */
function requireWithin(path: string): void {
  const is_outside = isAbsolute(path) || /^\.\.(?:[/\\]|$)/.test(normalize(path));
  if (!is_outside && !path.includes("\0")) return;
  throw new SvcError("validation", `${JSON.stringify(path)} is not a path within the checkout`, {
    hint: "use a path that `repository.changes` names",
  });
}

/** Returns the target of a link that a patch makes or changes. */
function linkIn(patch: string): string | undefined {
  if (!/^(new file mode|new mode|index [0-9a-f.]+) 120000$/m.test(patch)) return undefined;
  return /^@@[^\n]*\n(?:-[^\n]*\n(?:\\[^\n]*\n)?)?\+([^\n]*)/m.exec(patch)?.[1];
}

function readIn(
  root: string,
  path: string,
  hidden: readonly string[],
): Uint8Array<ArrayBuffer> | "too_large" | undefined {
  try {
    return readUntrusted(root, (files) => files.read(path, TEXT_BYTES), hidden);
  } catch (error) {
    if (!(error instanceof RootedError)) throw error;
    if (error.reason === "too_large") return "too_large";
    throw new SvcError("validation", `${relative(root, join(root, path))} cannot be read`, {
      cause: error,
    });
  }
}

/** Returns the error for a directory that is no checkout. */
export function noCheckout(workdir: string): SvcError {
  return new SvcError("validation", `${workdir} is not the top directory of a git repository`);
}
