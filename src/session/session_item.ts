/** Sessions in lists (contract.md section 5). */
import type * as z from "zod";
import { shownTitle, workOf } from "./titles.ts";
import type { sessionItemSchema } from "../protocol/schemas/session.ts";

export type SessionItem = z.output<ReturnType<typeof sessionItemSchema>>;

/** The fields of an item that a session's state has too. */
type Shared = Omit<SessionItem, "pending_approvals_count" | "reason" | "works_for"> & {
  goal?: string;
};

export function toItem(state: Shared, pending_approvals_count: number): SessionItem {
  return {
    id: state.id,
    workdir: state.workdir,
    model: state.model,
    title: shownTitle(state),
    works_for: workOf(state.title),
    state: state.state,
    activity: state.activity,
    started_at: state.started_at,
    ended_at: state.ended_at,
    last_seq: state.last_seq,
    last_event_at: state.last_event_at,
    approval: state.approval,
    trust: state.trust,
    budget_usd: state.budget_usd,
    cost_usd: state.cost_usd,
    pinned: state.pinned,
    archived: state.archived,
    temporary: state.temporary,
    parked_until: state.parked_until,
    unpriced: state.unpriced,
    pending_approvals_count,
    lanes: state.lanes.map((lane) => ({ ...lane })),
  };
}
