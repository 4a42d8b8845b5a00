/** The order of what was found. */
import type { Entry } from "../../protocol/memory.ts";
import type { Found } from "./store.ts";

/** Scores that differ by less are taken as equal. */
const SCORE_STEP = 0.05;

/** What of equal fit is more use: what to beware of, what is wanted, what is the case. */
const PRIORITY: Record<Entry["category"], number> = {
  gotcha: 0,
  anti_pattern: 1,
  fix: 2,
  preference: 3,
  pattern: 4,
  fact: 5,
};

/** The best first; among those that fit equally well, a warning before a fact, then the recent. */
export function byScore(a: Found & { score: number }, b: Found & { score: number }): number {
  const step = (score: number) => Math.round(score / SCORE_STEP);
  return step(b.score) - step(a.score) ||
    PRIORITY[a.category] - PRIORITY[b.category] ||
    (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0);
}
