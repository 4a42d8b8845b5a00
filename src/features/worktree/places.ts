/** Where the verbs about worktrees and checkouts work, and who may call them. */
import { isWithin } from "../../os/paths.ts";
import { SvcError } from "../../protocol/errors.ts";
import { type Context, mayBeModel } from "../../verbs/define.ts";
import type { Caller } from "../../verbs/verb.ts";
import { workdirOf } from "../../verbs/workdir.ts";
import type { WorktreeServices } from "./verbs.ts";

export { worktreePath } from "../../base/worktree_path.ts";

/** @throws {SvcError} permission_denied for a client that may be a model */
export function requirePerson(caller: Caller): void {
  if (!mayBeModel(caller)) return;
  throw new SvcError("permission_denied", "only a person commits in their name", {
    hint: "the person can commit in the web app, or with `svc ctl call repository.commit`",
  });
}

/** Returns the parameters of a call in a session's checkout. */
export async function checkoutOf(context: Context<WorktreeServices>, session_id: string) {
  const { services, signal } = context;
  const workdir = await workdirOf(context, { session_id });
  return { workdir, sandbox: await services.sandbox(), signal };
}

/**
 * Returns the parameters of a call in a repository.
 * @throws {SvcError} validation for one whose worktrees would be inside the home of svc
 */
export async function callOf(
  context: Context<WorktreeServices>,
  at: { session_id?: string; workdir?: string },
) {
  const { services, signal } = context;
  const repo = await workdirOf(context, at);
  if (isWithin(services.home, repo + "/.svc")) {
    throw new SvcError("validation", `worktrees of ${repo} would be inside the home of svc`);
  }
  return { repo, sandbox: await services.sandbox(), signal };
}

/** @throws {SvcError} conflict if a session works in a worktree */
export async function requireNoSession(
  { services }: Context<WorktreeServices>,
  path: string,
): Promise<void> {
  const sessions = await services.hub.list(false);
  const inside = sessions.find(({ workdir }) => isWithin(workdir, path));
  if (inside === undefined) return;
  throw new SvcError("conflict", `session ${inside.id} works in ${path}`, {
    hint: "end it first: `svc ctl sessions kill`",
  });
}
