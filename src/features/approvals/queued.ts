/** The questions that wait in the sessions of a daemon. */
import type * as z from "zod";
import type { Hub } from "../../session/hub.ts";
import { shownTitle } from "../../session/titles.ts";
import type { queuedApprovalSchema } from "./schemas.ts";

/** A question, without the arguments of its call, which can be long. */
export type QueuedApproval = z.output<ReturnType<typeof queuedApprovalSchema>>;

/** The most characters of a reason; a command line stands in it whole. */
const REASON_MAX = 4_000;

/** Returns the questions that have waited longest, and whether there are more. */
export async function queuedApprovals(hub: Hub, limit: number) {
  const items = (await hub.list(false)).filter((it) => it.pending_approvals_count > 0);
  const sessions = await Promise.all(items.map(({ id }) => hub.get(id)));
  const all = sessions.flatMap(({ id: session_id, state }) =>
    state.pending_approvals.map((
      { approval_id, lane_id, tool, reason, kind, requested_at },
    ): QueuedApproval => ({
      approval_id,
      session_id,
      title: shownTitle(state),
      workdir: state.workdir,
      lane_id,
      tool,
      reason: reason.length > REASON_MAX ? `${reason.slice(0, REASON_MAX)}…` : reason,
      ...(kind && { kind }),
      requested_at,
    }))
  );
  all.sort((a, b) => a.requested_at < b.requested_at ? -1 : 1);
  return { approvals: all.slice(0, limit), more: all.length > limit };
}
