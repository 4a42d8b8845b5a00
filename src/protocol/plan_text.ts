/** Plans as text. */

export interface PlanStep {
  step: string;
  state: "pending" | "doing" | "done";
}

const MARKS: Record<PlanStep["state"], string> = { pending: "[ ]", doing: "[>]", done: "[x]" };

/** Returns one line per step. */
export function planText(steps: readonly PlanStep[]): string {
  if (steps.length === 0) return "the plan is empty";
  return steps.map(({ step, state }) => `${MARKS[state]} ${step.replace(/\s+/g, " ")}`).join("\n");
}

export function planIsOpen(steps: readonly PlanStep[]): boolean {
  return steps.some(({ state }) => state !== "done");
}
