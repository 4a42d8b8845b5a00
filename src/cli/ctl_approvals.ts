/** `svc ctl approvals`. */
import { SvcError } from "../protocol/errors.ts";
import type { QueuedApproval } from "../features/approvals/queued.ts";
import { questionText, shownDigest } from "../session/question.ts";
import { print, withDaemon } from "./daemon_call.ts";
import type { Input } from "./spec.ts";
import { table } from "./table.ts";
import type * as spec from "./table/ctl.ts";

/** Runs `svc ctl approvals list`. */
export async function listApprovals(
  { flags }: Input<typeof spec.APPROVALS_LIST>,
): Promise<number> {
  const found = await withDaemon((rpc) => rpc.call("approvals.list"));
  if (flags.json) return print(found);
  if (found.approvals.length === 0) {
    console.log("no question waits");
    return 0;
  }
  const rows = found.approvals.map((
    it: QueuedApproval,
  ) => [it.approval_id, it.requested_at, it.title, it.reason]);
  console.log(table([["QUESTION", "SINCE", "SESSION", "WHAT WOULD BE DONE"], ...rows]));
  if (found.more) console.log("and more");
  return 0;
}

const DECISIONS = { allow: "allow", always: "allow_always", deny: "deny" } as const;

/** Runs `svc ctl approvals answer`. */
export async function answerApproval(
  { flags, args: { approval_id, decision } }: Input<typeof spec.APPROVALS_ANSWER>,
): Promise<number> {
  return await withDaemon(async (rpc) => {
    const { approvals } = await rpc.call("approvals.list", { limit: 1_000 });
    const session_id = approvals.find((it) => it.approval_id === approval_id)
      ?.session_id;
    const { pending_approvals = [] } = session_id === undefined
      ? {}
      : await rpc.call("session.get", { session_id });
    const asked = pending_approvals.find((it) => it.approval_id === approval_id);
    if (session_id === undefined || asked === undefined) {
      throw new SvcError("not_found", `no question ${approval_id} waits`, {
        hint: "`svc ctl approvals list` shows those that do; somebody may have answered it",
      });
    }
    const shown = await shownDigest(asked);
    if (!flags.json) console.log(questionText(asked));
    if (decision !== "deny") requireRead(shown, flags.shown);
    const done = await rpc.call("session.approve", {
      session_id,
      approval_id,
      decision: DECISIONS[decision],
      shown,
      message: flags.message,
    });
    if (flags.json) return print(done);
    console.log(`→ ${decision}`);
    return 0;
  });
}

/**
 * Requires that the person has read what they allow.
 *
 * @param shown the digest of the current question
 * @param read the digest that they give
 * @throws {SvcError} validation if they read nothing, conflict if they read another question
 */
function requireRead(shown: string, read: string | undefined): void {
  if (read === shown) return;
  if (read !== undefined) {
    throw new SvcError("conflict", "the question is not the one that --shown names", {
      hint: `read it above; to allow it, add --shown ${shown}`,
    });
  }
  if (Deno.stdin.isTerminal() && confirm("Allow this?")) return;
  throw new SvcError("validation", "nothing was allowed", {
    hint: `to allow what stands above without a question, add --shown ${shown}`,
  });
}
