/** Retries failed model calls. */
import pRetry from "p-retry";
import { delay } from "@std/async";
import { MAIN_LANE, MODEL_RETRY } from "../protocol/events.ts";
import type { Session, Turn } from "../session/session.ts";
import { ModelError } from "../models/model.ts";

const RETRIES = 4;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 30_000;
/** The longest wait that a provider may request; otherwise the call fails. */
const RETRY_AFTER_MAX_MS = 60_000;

/**
 * Makes a model call and retries temporary failures; each wait is visible.
 *
 * @throws the last failure, or the signal's reason
 */
export function withRetries<T>(
  session: Session,
  turn: Turn,
  attempt: () => Promise<T>,
): Promise<T> {
  return pRetry(attempt, {
    retries: RETRIES,
    minTimeout: RETRY_MIN_MS,
    maxTimeout: RETRY_MAX_MS,
    randomize: true,
    signal: turn.signal,
    shouldRetry: ({ error, attemptNumber, retryDelay }) =>
      noteRetry(session, turn, error, attemptNumber, retryDelay),
  });
}

/** Decides whether to try again, and shows that before the wait. */
async function noteRetry(
  session: Session,
  turn: Turn,
  error: Error,
  attempt: number,
  backoff_ms: number,
): Promise<boolean> {
  if (!(error instanceof ModelError) || !error.retryable) return false;
  const attempts = Math.min(error.attempts ?? Infinity, RETRIES + 1);
  if (attempt >= attempts) return false;
  const asked_ms = error.retry_after_ms ?? 0;
  if (asked_ms > RETRY_AFTER_MAX_MS) return false;
  const wait_ms = Math.max(backoff_ms, asked_ms);
  await session.emit("lane.note", {
    lane_id: MAIN_LANE,
    text: `${error.message}; trying again in ${(wait_ms / 1000).toFixed(1)} s ` +
      `(attempt ${attempt + 1} of ${attempts})`,
    reason_code: MODEL_RETRY,
  });
  await delay(wait_ms - backoff_ms, { signal: turn.signal });
  return true;
}
