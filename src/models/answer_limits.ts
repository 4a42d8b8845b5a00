/** How long one answer may take, in milliseconds; `[agent]` in daemon.toml has durations. */
export interface AnswerLimits {
  /** From the request to the first byte of the body. */
  first_byte_ms: number;
  /** Between two reads of the body. Keep-alives count as bytes. */
  idle_ms: number;
  /** From the request to the end. */
  answer_ms: number;
}

/**
 * Generous, because giving up too early repeats the whole wait. A model on a CPU reads a long
 * prompt for minutes, and a thinking model may be silent as long.
 */
export const ANSWER_LIMITS: AnswerLimits = {
  first_byte_ms: 10 * 60_000,
  idle_ms: 5 * 60_000,
  answer_ms: 2 * 3_600_000,
};
