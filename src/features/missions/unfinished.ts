import type { Host } from "../../verbs/host.ts";
import { hasUnfinishedMissions } from "./store.ts";

/** Whether a mission is unfinished: otherwise nothing else of missions is loaded at the start. */
export async function hasUnfinished({ openStateDb }: Host): Promise<boolean> {
  const db = await openStateDb();
  try {
    return hasUnfinishedMissions(db);
  } finally {
    db.close();
  }
}
