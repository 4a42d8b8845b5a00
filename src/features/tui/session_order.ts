import type { SessionItem } from "../../session/session_item.ts";

/** Sessions to go on with: those that wait for the person, pinned ones, then by the last event. */
export function newestFirst(sessions: readonly SessionItem[]): SessionItem[] {
  const rank = (it: SessionItem) => it.pending_approvals_count > 0 ? 0 : it.pinned ? 1 : 2;
  return sessions
    .filter((it) => it.state !== "unreadable" && !it.temporary)
    .toSorted((a, b) => rank(a) - rank(b) || (a.last_event_at < b.last_event_at ? 1 : -1));
}
