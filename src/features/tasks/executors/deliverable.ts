import type { Deliverable } from "../task.ts";

/** Returns a deliverable with a text. */
export function textDeliverable(
  summary: string,
  more: Omit<Deliverable, "summary" | "size"> = {},
): Deliverable {
  return { summary, size: new TextEncoder().encode(summary).length, ...more };
}
