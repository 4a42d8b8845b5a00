/** A short status of a working tree, from svc's hardened git. */
import { worktreeAt } from "../../base/worktree_path.ts";
import { visibleLine } from "../../base/visible.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { openWorktree } from "../worktree/checkout.ts";
import { git, openRepo } from "../worktree/git.ts";
import type { Repository } from "./repository.ts";

/** More paths are only counted. */
const PATHS_MAX = 20;
const PATH_MAX = 200;
const BYTES_MAX = 64 * 1024;

const STATUS = [
  ...["status", "--porcelain=v1", "--branch", "-z", "--no-renames"],
  ...["--untracked-files=normal", "--ignore-submodules=dirty"],
];

/**
 * Returns a status for a model; undefined for a checkout whose git directory svc does not know.
 * @param signal ends git
 * @throws {SvcError} when git fails; the signal's reason
 */
export async function shortStatus(
  { root, kind }: Repository,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  if (kind === "other") return undefined;
  const options = { signal, max_bytes: BYTES_MAX };
  const own = kind === "worktree" ? worktreeAt(root) : undefined;
  if (own === undefined) {
    const repo = await openRepo(root, sandbox, signal);
    return statusLines(await git(repo, STATUS, options));
  }
  const at = await openWorktree({ ...own, sandbox, signal });
  return statusLines(await git(at.repo, STATUS, { ...options, at }));
}

/** Converts the output of `git status --porcelain=v1 --branch -z`. */
export function statusLines(
  { stdout, truncated }: { stdout: string; truncated: boolean },
): string[] {
  const [head, ...entries] = stdout.split("\0").slice(0, -1);
  const [, distance] = head?.match(/ \[((?:ahead|behind) [^\]]+)\]$/) ?? [];
  const beside = distance === undefined ? "" : `, ${distance} of its upstream`;
  if (entries.length === 0) return [`clean${beside}`];
  const shown = entries.slice(0, PATHS_MAX).map((entry) => visibleLine(entry).slice(0, PATH_MAX));
  const more = entries.length - shown.length;
  return [
    `${truncated ? "more than " : ""}${entries.length} changed or new${beside}`,
    ...shown,
    ...(more > 0 ? [`… and ${more} more`] : []),
  ];
}
