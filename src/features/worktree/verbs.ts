import * as z from "zod";
import { verbsOf } from "../../verbs/define.ts";
import { place, type PlaceServices } from "../../verbs/workdir.ts";
import type { Sandbox } from "../../jail/sandbox.ts";
import { changedTextSchema } from "../../protocol/schemas/changes.ts";
import { session_id } from "../../verbs/session_id.ts";
import {
  committedSchema,
  createdWorktreeSchema,
  mergeResultSchema,
  uncommittedSchema,
  worktreeDiffSchema,
  worktreeItemSchema,
} from "./schemas.ts";

/** The services of the verbs about worktrees and checkouts. */
export interface WorktreeServices extends PlaceServices {
  /** @throws {Error} when the configured sandbox does not work */
  sandbox(): Promise<Sandbox>;
  /** Absolute real paths in a working directory that are not shown. */
  hidden(workdir: string): readonly string[];
}

const defineVerb = verbsOf<WorktreeServices>();

const name = () => z.string().min(1).describe("Name of the worktree");

/** Loaded on first use. */
const domain = async () => ({
  ...await import("./worktree.ts"),
  ...await import("./places.ts"),
});

export const worktreeVerbs = [
  defineVerb({
    name: "worktree.list",
    summary: "Lists the worktrees of a git repository.",
    access: "read",
    input: () => z.object(place()),
    output: () => z.object({ worktrees: z.array(worktreeItemSchema()) }),
    async handle(context, params) {
      const { callOf, listWorktrees } = await domain();
      return { worktrees: await listWorktrees(await callOf(context, params)) };
    },
  }),
  defineVerb({
    name: "worktree.create",
    summary: "Creates a worktree with its own branch in <repository>/.svc/worktrees.",
    access: "write",
    input: () =>
      z.object({
        ...place(),
        name: name(),
        base: z.string().min(1).optional()
          .describe("Commit, branch or tag to start from; by default, the current checkout"),
      }),
    output: createdWorktreeSchema,
    async handle(context, { name, base, ...at }) {
      const { callOf, createWorktree } = await domain();
      return await createWorktree({ ...await callOf(context, at), name, base });
    },
  }),
  defineVerb({
    name: "worktree.diff",
    summary: "Shows the changes in a worktree, including uncommitted ones.",
    access: "read",
    input: () =>
      z.object({
        ...place(),
        name: name(),
        full: z.boolean().default(false).describe(
          "Return up to 4 MiB of the patch instead of 64 KiB",
        ),
      }),
    output: worktreeDiffSchema,
    async handle(context, { name, full, ...at }) {
      const { callOf, diffWorktree } = await domain();
      return await diffWorktree({ ...await callOf(context, at), name, full });
    },
  }),
  defineVerb({
    name: "worktree.merge",
    summary: "Commits the changes in a worktree and merges its branch into the repository's " +
      "checkout; if the merge fails, the checkout does not change.",
    access: "write",
    input: () =>
      z.object({
        ...place(),
        name: name(),
        strategy: z.enum(["ff-only", "squash", "ours"]).default("ff-only").describe(
          "ff-only moves the checkout forward; squash makes one commit; " +
            "ours records the branch as merged and keeps the checkout's files",
        ),
        message: z.string().min(1).max(10_000).optional().describe(
          "Message of the commits that the merge makes",
        ),
      }),
    output: mergeResultSchema,
    async handle(context, { name, strategy, message, ...at }) {
      const { callOf, commitAll, mergeWorktree, openWorktree } = await domain();
      const call = await callOf(context, at);
      const { path, branch } = await openWorktree({ ...call, name });
      await commitAll({ ...call, path, message: message ?? `Work in ${branch}` });
      return await mergeWorktree({ ...call, branch, strategy, message });
    },
  }),
  defineVerb({
    name: "worktree.clean",
    summary: "Removes a worktree and its branch; unmerged work needs force.",
    access: "write",
    destructive: true,
    input: () =>
      z.object({
        ...place(),
        name: name(),
        force: z.boolean().default(false).describe("Discard uncommitted and unmerged changes"),
      }),
    output: () => z.object({ name: z.string() }),
    async handle(context, { name, force, ...at }) {
      const { callOf, cleanWorktree, requireNoSession, worktreePath } = await domain();
      const call = await callOf(context, at);
      const path = worktreePath(call.repo, name);
      await requireNoSession(context, path);
      await cleanWorktree({ ...call, name, force });
      await context.services.hub.forgetWithin(path);
      return { name };
    },
  }),
  defineVerb({
    name: "repository.changes",
    summary: "Lists what a session's checkout has that its last commit does not.",
    access: "read",
    input: () => z.object({ session_id: session_id() }),
    output: uncommittedSchema,
    async handle(context, { session_id }) {
      const { uncommittedIn } = await import("./uncommitted.ts");
      const { checkoutOf } = await import("./places.ts");
      return await uncommittedIn(await checkoutOf(context, session_id));
    },
  }),
  defineVerb({
    name: "repository.changed_file",
    summary: "Shows how a file differs from the last commit of a session's checkout.",
    access: "read",
    large: true,
    input: () =>
      z.object({
        session_id: session_id(),
        path: z.string().min(1).describe("As repository.changes names it"),
        renamed_from: z.string().min(1).optional().describe("As repository.changes names it"),
      }),
    output: changedTextSchema,
    async handle(context, { session_id, path, renamed_from }) {
      const { uncommittedText } = await import("./uncommitted.ts");
      const { checkoutOf } = await import("./places.ts");
      const call = await checkoutOf(context, session_id);
      const hidden = context.services.hidden(call.workdir);
      return await uncommittedText({ ...call, path, renamed_from, hidden });
    },
  }),
  defineVerb({
    name: "repository.commit",
    summary: "Commits the changes in a session's checkout on its branch, without running hooks.",
    access: "write",
    input: () =>
      z.object({
        session_id: session_id(),
        message: z.string().trim().min(1).max(10_000)
          .describe("Its first line is the subject of the commit"),
        paths: z.array(z.string().min(1)).min(1).max(1_000).optional()
          .describe("Only these files, relative to the checkout; by default, all changes"),
        versions: z.record(z.string(), z.string()).optional()
          .describe(
            "By path, what repository.changes said of it, or an empty text if nothing; " +
              "if a file has another version now, nothing is committed",
          ),
      }),
    output: committedSchema,
    async handle(context, { session_id, ...asked }) {
      const { commitChanges } = await import("./commit.ts");
      const { checkoutOf, requirePerson } = await import("./places.ts");
      // A model can commit with its own git, where the person's rules decide.
      requirePerson(context.caller);
      const call = await checkoutOf(context, session_id);
      return { commit: await commitChanges({ ...call, ...asked }) };
    },
  }),
];
