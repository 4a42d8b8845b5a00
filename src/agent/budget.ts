import type { SessionState } from "../session/session_state.ts";

/**
 * Returns a message if a session's budget is used up.
 *
 * @param fallback_usd for sessions without a budget
 */
export function spentBudget(state: SessionState, fallback_usd?: number): string | undefined {
  const budget = state.budget_usd ?? fallback_usd;
  if (budget === undefined || state.cost_usd < budget) return undefined;
  return `the session's budget of $${budget} is used up`;
}
