/** What a person is told of changed settings. */
import type { EventData } from "./events.ts";

/** The line for a change of settings. */
export function configuredText(
  { model, approval, budget_usd, title }: EventData["session.configured"],
): string {
  const budget = budget_usd === undefined ? undefined : `$${budget_usd}`;
  return Object.entries({ model, approval, budget, title })
    .flatMap(([name, value]) => value === undefined ? [] : `${name} is now ${value}`)
    .join(", ");
}
