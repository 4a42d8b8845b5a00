/** What decides how a session's state is shown. */
export interface State {
  state: "running" | "paused" | "ended" | "unreadable";
  activity: "idle" | "working" | "awaiting_approval";
  /** When the turn goes on that waits for the end of a limit. */
  parked_until?: string;
}

/** The name of a state in the style sheets. */
export function stateTone({ state, activity, parked_until }: State) {
  if (state !== "running") return state;
  return activity === "working" && parked_until !== undefined ? "parked" : activity;
}
