/** The lobes: what works for the sessions beside their conversation. Each can be paused. */

export const RECALLER = "recaller";
export const CURATOR = "curator";
export const LOBES = [RECALLER, CURATOR] as const;
export type LobeName = typeof LOBES[number];

/** A lobe as lists show it. */
export interface Lobe {
  lobe: LobeName;
  summary: string;
  /** `off`: the configuration has it not work at all. */
  status: "off" | "paused" | "idle" | "working";
}

export const SUMMARIES: Record<LobeName, string> = {
  recaller: "Adds the memory entries that are relevant to a prompt.",
  curator: "Reads each finished turn and saves what is worth remembering.",
};
