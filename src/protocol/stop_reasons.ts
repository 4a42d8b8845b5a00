/** Reasons why turns end. */

interface Stop {
  /** For the documentation and the help. */
  about: string;
  /** Of `svc chat -p`. 2 is wrong usage. */
  exit_code: number;
  /** Short form for people. */
  label: string;
}

export const STOPS = {
  ok: { exit_code: 0, label: "Done", about: "the model has answered" },
  error: { exit_code: 1, label: "The turn failed", about: "the model could not be asked" },
  budget: {
    exit_code: 3,
    label: "Stopped by a limit",
    about: "the budget, or the limit of steps, is used up",
  },
  length: {
    exit_code: 4,
    label: "Cut off",
    about: "the answer reached the model's output limit, also after three continuations",
  },
  filtered: {
    exit_code: 5,
    label: "Stopped by the provider's filter",
    about: "the provider's content filter stopped the answer or refused the request",
  },
  refused: { exit_code: 6, label: "Refused", about: "the model refused to answer" },
  empty: { exit_code: 7, label: "Empty answer", about: "the model said nothing, twice" },
  loop: {
    exit_code: 8,
    label: "Stopped in a loop",
    about: "the same calls gave the same results five times in a row",
  },
  rate_limit: {
    exit_code: 9,
    label: "Rate limit",
    about: "the provider's rate limit or quota is used up for longer than svc waits",
  },
  critic: { exit_code: 10, label: "Stopped by the critic", about: "the critic found something" },
  interrupted: {
    exit_code: 11,
    label: "Interrupted",
    about: "the session was paused, or the daemon stopped; the turn may be continued",
  },
  cancelled: { exit_code: 130, label: "Cancelled", about: "somebody cancelled the turn" },
} as const satisfies Record<string, Stop>;

/** How a turn ended. */
export type StopReason = keyof typeof STOPS;

/** Returns a label for people; a newer daemon may have unknown reasons. */
export function stopLabel(stop_reason: string): string {
  return Object.hasOwn(STOPS, stop_reason) ? STOPS[stop_reason as StopReason].label : stop_reason;
}
