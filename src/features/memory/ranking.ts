/** The order of matches. */
import type { Entry } from "../../protocol/memory.ts";
import type { Found } from "./store.ts";

/** Smaller differences count as equal. */
const SCORE_STEP = 0.05;

/** Of equal matches: warnings first, then wishes, then facts. */
const PRIORITY: Record<Entry["category"], number> = {
  gotcha: 0,
  anti_pattern: 1,
  fix: 2,
  preference: 3,
  pattern: 4,
  fact: 5,
};

/** Orders by score, then {@linkcode PRIORITY}, then most recent first. */
export function byScore(a: Found & { score: number }, b: Found & { score: number }): number {
  const step = (score: number) => Math.round(score / SCORE_STEP);
  return step(b.score) - step(a.score) ||
    PRIORITY[a.category] - PRIORITY[b.category] ||
    (a.updated_at < b.updated_at ? 1 : a.updated_at > b.updated_at ? -1 : 0);
}
