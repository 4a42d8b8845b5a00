import type { SessionState } from "../session/session_state.ts";

/**
 * Returns a message when a session's budget is used up.
 *
 * @param fallback_usd the budget of sessions that have none of their own
 * @returns undefined while some of it is left
 */
export function spentBudget(state: SessionState, fallback_usd?: number): string | undefined {
  const budget = state.budget_usd ?? fallback_usd;
  if (budget === undefined || state.cost_usd < budget) return undefined;
  return `the session's budget of $${budget} is used up`;
}
