import * as z from "zod";
import { changedFileSchema } from "../../protocol/schemas/changes.ts";

export const worktreeItemSchema = () =>
  z.object({
    name: z.string(),
    path: z.string(),
    branch: z.string(),
    commit: z.string().optional().describe(
      "Commit of the branch; absent if the branch does not exist",
    ),
    merged: z.boolean().describe("Whether the commit is part of the repository's checkout"),
    uncommitted: z.int().describe("Number of paths that differ from the worktree's commit"),
    problem: z.string().optional().describe(
      "Why the worktree cannot be used, for instance because its directory no longer exists",
    ),
  });

export const createdWorktreeSchema = () =>
  z.object({
    name: z.string(),
    path: z.string().describe("Absolute path of the worktree"),
    branch: z.string(),
    base_commit: z.string().describe("Commit that the branch starts from"),
  });

export const fileChangeSchema = () =>
  z.object({
    path: z.string(),
    added: z.int().optional().describe("Lines; absent for a binary file"),
    deleted: z.int().optional(),
  });

export const worktreeDiffSchema = () =>
  z.object({
    base_commit: z.string().describe("Last common commit with the repository's checkout"),
    commit: z.string().describe("Commit of the branch"),
    files: z.array(fileChangeSchema()).describe("The first 1,000 changed files"),
    files_changed: z.int().describe("Number of all changed files"),
    added: z.int(),
    deleted: z.int(),
    patch: z.string().describe("Unified diff, possibly cut at its end"),
    truncated: z.boolean().describe("Whether a part of files or patch was left out"),
  });

export const mergeResultSchema = () =>
  z.object({
    merged: z.boolean(),
    commit: z.string().optional().describe("New commit of the repository's checkout, if merged"),
    conflicts: z.array(z.string()).optional().describe("The conflicting files, if not merged"),
    reason: z.string().optional().describe("Why it was not merged"),
  });

export const uncommittedSchema = () =>
  z.object({
    kind: z.enum(["none", "checkout", "worktree"]).describe(
      "worktree: one that svc created; none: not the top of a repository",
    ),
    repo: z.string().optional().describe("Absolute path of the repository"),
    worktree: z.string().optional().describe("Name of the worktree"),
    branch: z.string().optional().describe("Absent if the checkout is not on a branch"),
    files: z.array(changedFileSchema()).describe("The first 1,000 files"),
    files_changed: z.int().describe("Number of all changed files"),
    added: z.int().describe("Lines, without those of new files"),
    deleted: z.int().describe("Lines"),
    truncated: z.boolean(),
  });

export const committedSchema = () =>
  z.object({
    commit: z.string().optional().describe("The new commit; absent if nothing was left to commit"),
  });
