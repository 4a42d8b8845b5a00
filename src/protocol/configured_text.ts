import type { EventData } from "./events.ts";

/** Returns the line for changed settings. */
export function configuredText(
  { model, approval, effort, budget_usd, title, pinned, archived }: EventData["session.configured"],
): string {
  const budget = budget_usd === undefined ? undefined : `$${budget_usd}`;
  const marks = [
    ...(pinned === undefined ? [] : [pinned ? "pinned" : "no longer pinned"]),
    ...(archived === undefined ? [] : [archived ? "archived" : "no longer archived"]),
  ];
  const values = Object.entries({ model, approval, effort, budget, title })
    .flatMap(([name, value]) => value === undefined ? [] : `${name} is now ${value}`);
  return [...values, ...marks].join(", ");
}
