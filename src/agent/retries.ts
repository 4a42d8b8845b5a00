/** Retries failed model calls. */
import pRetry from "p-retry";
import { delay } from "@std/async";
import { MAIN_LANE, MODEL_RETRY } from "../protocol/events.ts";
import { formatDuration } from "../base/duration.ts";
import type { TurnSession } from "../session/session.ts";
import type { Turn, TurnEnd } from "../session/turn.ts";
import { ModelError } from "../models/model.ts";

const RETRIES = 4;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;
/** The total wait that a call accepts from its provider; beyond that it fails. */
const WAIT_MAX_MS = 10 * 60_000;
/** Bounds the times that a provider names. */
const AHEAD_MAX_MS = 366 * 24 * 3_600_000;

/**
 * Makes a model call and retries temporary failures; each wait is visible.
 *
 * @throws the last failure, or the signal's reason
 */
export function withRetries<T>(
  session: Pick<TurnSession, "emit">,
  turn: Turn,
  attempt: () => Promise<T>,
): Promise<T> {
  const waits = { left_ms: WAIT_MAX_MS };
  return pRetry(attempt, {
    retries: RETRIES,
    // The wait is in `noteRetry`, where a stop ends it.
    minTimeout: 0,
    signal: turn.signal,
    shouldRetry: ({ error, attemptNumber }) =>
      noteRetry(session, turn, waits, error, attemptNumber),
  });
}

/** Returns how a turn ends after a failed model call, if the reason has a name. */
export function endOfFailure(error: unknown): TurnEnd | undefined {
  if (!(error instanceof ModelError)) return undefined;
  if (error.filtered) return { stop_reason: "filtered", error: error.message };
  if (error.status !== 429 && !error.limited) return undefined;
  const { message, retry_after_ms } = error;
  const wait = retry_after_ms === undefined
    ? ""
    : `; it asks to wait until ${timeIn(retry_after_ms)}`;
  const bound = `svc waits at most ${formatDuration(WAIT_MAX_MS)} and ${RETRIES + 1} attempts`;
  return { stop_reason: "rate_limit", error: `${message}${wait}; ${bound}` };
}

/** How long a turn waits again that was parked, if the limit still holds and has no time. */
const PARK_AGAIN_MS = 15 * 60_000;
/** The same if its provider fails otherwise, as when the machine has woken without a network. */
const FAILED_AGAIN_MS = 5 * 60_000;

function isParked({ limited, retry_after_ms = 0 }: ModelError, turn: Turn): boolean {
  return limited && retry_after_ms > (turn.parks_after_ms ?? Infinity);
}

/**
 * Returns how a turn ends that may wait for the end of a provider's limit.
 *
 * @param was_parked whether it has had no answer since: then it waits again instead of failing
 */
export function parkedEnd(
  error: unknown,
  turn: Turn,
  was_parked: boolean,
): TurnEnd | undefined {
  if (!(error instanceof ModelError) || turn.parks_after_ms === undefined) return undefined;
  const { message: reason, limited, retryable, retry_after_ms } = error;
  if (retry_after_ms !== undefined && isParked(error, turn)) {
    const asked = `; it asks to wait until ${timeIn(retry_after_ms)}`;
    const park = { wait_ms: retry_after_ms, reason };
    return { stop_reason: "rate_limit", error: `${reason}${asked}`, park };
  }
  if (!was_parked || !retryable) return undefined;
  const wait_ms = limited && retry_after_ms === undefined
    ? Math.max(PARK_AGAIN_MS, turn.parks_after_ms)
    : FAILED_AGAIN_MS;
  const stop_reason = limited ? "rate_limit" : "error";
  return { stop_reason, error: reason, park: { wait_ms, reason } };
}

/** Decides whether to try again, and shows that before the wait. */
async function noteRetry(
  session: Pick<TurnSession, "emit">,
  turn: Turn,
  waits: { left_ms: number },
  error: Error,
  attempt: number,
): Promise<boolean> {
  if (!(error instanceof ModelError) || !error.retryable) return false;
  const attempts = Math.min(error.attempts ?? Infinity, RETRIES + 1);
  if (attempt >= attempts) return false;
  const asked_ms = error.retry_after_ms ?? 0;
  if (asked_ms > waits.left_ms || isParked(error, turn)) return false;
  turn.soft.throwIfAborted();
  waits.left_ms -= asked_ms;
  const backoff_ms = Math.min(
    RETRY_MIN_MS * 2 ** (attempt - 1) * (1 + Math.random()),
    RETRY_MAX_MS,
  );
  const wait_ms = Math.max(backoff_ms, asked_ms);
  await session.emit("lane.note", {
    lane_id: MAIN_LANE,
    text: `${error.message}; trying again in ${(wait_ms / 1000).toFixed(1)} s` +
      `${asked_ms > 0 ? `, at ${timeIn(wait_ms)}` : ""} (attempt ${attempt + 1} of ${attempts})`,
    reason_code: MODEL_RETRY,
  });
  // A pause does not wait for the provider.
  await delay(wait_ms, { signal: turn.soft });
  return true;
}

/** The time of day after `ms`; with the date if that is not today. */
function timeIn(ms: number): string {
  const [date, time] = new Date(Date.now() + Math.min(ms, AHEAD_MAX_MS)).toISOString().split(
    /[T.]/,
  );
  const today = new Date().toISOString().startsWith(date);
  return `${today ? "" : `${date} `}${time} UTC`;
}
