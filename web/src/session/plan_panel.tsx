/** The plan of the session's model, while a step of it is open. */
import { visibleLine } from "../../../src/base/visible.ts";
import { planIsOpen, type PlanStep } from "../../../src/protocol/plan_text.ts";
import type { SessionStore } from "./store.ts";

const STATES: Record<PlanStep["state"], string> = {
  pending: "to do",
  doing: "in progress",
  done: "done",
};
const MARKS: Record<PlanStep["state"], string> = { pending: "○", doing: "▸", done: "✓" };

export function PlanPanel({ store }: { store: SessionStore }) {
  const { plan } = store.state;
  if (!planIsOpen(plan)) return null;
  const done = plan.filter(({ state }) => state === "done").length;
  return (
    <details class="plan" open>
      <summary>Plan · {done} of {plan.length} done</summary>
      <ol>
        {plan.map(({ step, state }, n) => (
          <li key={n} class={state} aria-current={state === "doing" ? "step" : undefined}>
            <span aria-hidden="true">{MARKS[state]}</span> {visibleLine(step)}
            <span class="visually-hidden">, {STATES[state]}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}
