/** Hooks' runs in words. */
import type { EventData } from "./event_data.ts";

const DECIDED = { allow: "allowed", ask: "asks about", deny: "denied" } as const;

/** One line about a hook's run; parts of it may come from the operator's program. */
export function hookText(
  { on, program, decision, reason, context, problem }: EventData["hook.ran"],
): string {
  const call = on.startsWith("tool.") ? "a call" : on;
  const did = problem ?? (decision && `${DECIDED[decision]} ${call}`) ??
    (context === undefined ? "ran" : "told the model something");
  return `hook ${program}: ${did}${reason === undefined ? "" : `: ${reason}`}`;
}
