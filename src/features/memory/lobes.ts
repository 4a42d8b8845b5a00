/** The lobes: what works for the sessions beside their conversation. Each can be paused. */
import type * as z from "zod";
import type { lobeItemSchema } from "./schemas.ts";

export const RECALLER = "recaller";
export const CURATOR = "curator";
export const LOBES = [RECALLER, CURATOR] as const;
export type LobeName = typeof LOBES[number];

/** A lobe as lists show it. */
export type Lobe = z.output<ReturnType<typeof lobeItemSchema>>;

export const SUMMARIES: Record<LobeName, string> = {
  recaller: "Adds the memory entries that are relevant to a prompt.",
  curator: "Reads each finished turn and saves what is worth remembering.",
};
