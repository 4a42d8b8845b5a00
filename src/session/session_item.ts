/** A session as lists show it (contract.md section 5). */
import type { Approval, Trust } from "../protocol/events.ts";
import type { Lane, SessionState } from "./state.ts";

export interface SessionItem {
  id: string;
  workdir: string;
  model: string;
  title: string;
  state: SessionState["state"] | "unreadable";
  activity: SessionState["activity"];
  started_at: string;
  ended_at?: string;
  last_seq: number;
  last_event_at: string;
  approval: Approval;
  trust: Trust;
  budget_usd?: number;
  cost_usd: number;
  /** How many questions wait; `session.get` has them. */
  pending_approvals_count: number;
  lanes: Lane[];
  /** Why it is unreadable. */
  reason?: string;
}

/** The list item of a session in that state. */
export function toItem(state: SessionState): SessionItem {
  return {
    id: state.id,
    workdir: state.workdir,
    model: state.model,
    title: state.title,
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
    pending_approvals_count: state.pending_approvals.length,
    lanes: state.lanes.map((lane) => ({ ...lane })),
  };
}
