/** How long one answer of a model may take. */

/** Milliseconds; `[agent]` of daemon.toml has them as durations. */
export interface AnswerLimits {
  /** From the request to the first byte of the answer's body. */
  first_byte_ms: number;
  /** Between two reads of it. Keep-alives count as bytes. */
  idle_ms: number;
  /** From the request to the end. */
  answer_ms: number;
}

/**
 * Generous, since an answer given up too early is asked for again and takes as long again: a model
 * on a processor reads a long prompt for minutes, and a thinking one may be silent as long.
 */
export const ANSWER_LIMITS: AnswerLimits = {
  first_byte_ms: 10 * 60_000,
  idle_ms: 5 * 60_000,
  answer_ms: 2 * 3_600_000,
};
