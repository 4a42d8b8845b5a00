/** How long a turn waits for the end of a provider's limit. */
import type { TurnEnd } from "./turn.ts";

/** How long a turn is parked without an answer: a limit per week, and a day. */
export const PARK_MAX_MS = 8 * 24 * 3_600_000;
/** Providers cut their times to whole seconds. */
const MARGIN_MS = 1_000;
const SLACK_MS = 60_000;

/** How a session's turns wait for the end of limits. */
export interface Parks {
  /** Shorter waits are retries. */
  after_ms: number;
  /** Whether the turn ends as interrupted instead, for the person to continue. */
  asks: boolean;
}

interface Limited {
  wait_ms: number;
  parked_since?: string;
  /** When its work must be done, in milliseconds since 1970. */
  deadline_at?: number;
  now: number;
}

/** Returns until when a turn is parked, or why it is not. */
export function parkedUntil(
  { wait_ms, parked_since, deadline_at = Infinity, now }: Limited,
): { until: string } | { refused: string } {
  const at = now + wait_ms + MARGIN_MS;
  const since = parked_since === undefined ? now : Math.min(now, Date.parse(parked_since));
  if (at - since > PARK_MAX_MS) {
    return { refused: `svc waits at most ${PARK_MAX_MS / (24 * 3_600_000)} days` };
  }
  if (at > deadline_at) return { refused: "that is after the task's deadline" };
  return { until: new Date(at).toISOString() };
}

/** Reports whether a wait is over. One beyond the bound is of a clock that was set back since. */
export function isOver(until: number, now: number): boolean {
  return until <= now || until - now > PARK_MAX_MS + SLACK_MS;
}

/** Returns how a turn ends that is not parked. */
export function unparked({ stop_reason, error }: TurnEnd, why?: string): TurnEnd {
  return { stop_reason, error: why === undefined ? error : `${error}; ${why}` };
}
