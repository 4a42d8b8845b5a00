/** A plan as lines of text. */

/** A step of a session's plan. */
export interface PlanStep {
  step: string;
  state: "pending" | "doing" | "done";
}

const MARKS: Record<PlanStep["state"], string> = { pending: "[ ]", doing: "[>]", done: "[x]" };

/** Returns one line per step, with its state in front. */
export function planText(steps: readonly PlanStep[]): string {
  if (steps.length === 0) return "the plan is empty";
  return steps.map(({ step, state }) => `${MARKS[state]} ${step.replace(/\s+/g, " ")}`).join("\n");
}

/** Whether a plan has steps that are not done. */
export function planIsOpen(steps: readonly PlanStep[]): boolean {
  return steps.some(({ state }) => state !== "done");
}
