/** The lobes: background helpers beside the conversation. Each can be paused. */
import type * as z from "zod";
import type { lobeItemSchema } from "./schemas.ts";

export const RECALLER = "recaller";
export const CURATOR = "curator";
export const LOBES = [RECALLER, CURATOR] as const;
export type LobeName = typeof LOBES[number];

export type Lobe = z.output<ReturnType<typeof lobeItemSchema>>;

export const SUMMARIES: Record<LobeName, string> = {
  recaller: "Adds the memory entries that are relevant to a prompt.",
  curator: "Reads each finished turn and saves what is worth remembering.",
};
